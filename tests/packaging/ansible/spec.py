# SPDX-License-Identifier: GPL-2.0-or-later
# spec.py - the module's documentation, its arguments and the options of the program agree
#
# spec.py MODULE CPUOFF	prints what does not
import importlib.util
import subprocess
import sys

import yaml

spec = importlib.util.spec_from_file_location('cpuoff', sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

documented = yaml.safe_load(module.DOCUMENTATION)['options']
for option in documented.values():
    option.pop('description')
arguments = module.argument_spec()
for name in sorted(set(documented) | set(arguments)):
    if documented.get(name) != arguments.get(name):
        print('%s: documented %s, taken %s' % (name, documented.get(name), arguments.get(name)))
yaml.safe_load(module.RETURN)
yaml.safe_load(module.EXAMPLES)

help_text = subprocess.run([sys.argv[2], '--help'], stdout=subprocess.PIPE, check=True).stdout.decode()
known = set(word.split('=')[0].split('[')[0] for word in help_text.split() if word.startswith('--'))
not_options = {'state', 'operation', 'executable', 'expedite'}
for name in sorted(set(arguments) - not_options):
    if module.option(name) not in known:
        print('%s is no option of cpuoff' % module.option(name))
