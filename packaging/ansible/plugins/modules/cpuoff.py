#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-License-Identifier: GPL-2.0-or-later
# cpuoff.py - CPUs offline and back with cpuoff(8), as a module of Ansible
# GNU General Public License v2.0+ (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)

DOCUMENTATION = r'''
---
module: cpuoff
short_description: Take CPUs offline as one undoable operation, and bring them back
description:
  - Runs C(cpuoff) on the managed node, which takes sockets, NUMA nodes, dies, cores, hardware threads or any
    set of CPUs offline, after it has moved the work away, and brings all of it back as it was.
  - What the selection means, every rule and every option is described in cpuoff(8).
  - A dry run comes first. Where it finds nothing to do, nothing is done and nothing has changed; where it
    refuses, the task fails with the reasons that C(cpuoff) gives.
version_added: 1.0.0
author:
  - cpuoff developers (@cpuoff)
requirements:
  - cpuoff 0.1.0 or newer, and Python 3, on the managed node
options:
  state:
    description:
      - With C(offline), the selected CPUs are offline afterwards. Those that are offline already, whoever took
        them, are left alone.
      - With C(online), the operation named by C(operation), or the only one in force, is undone; with a
        selection, these CPUs come back, from whichever operations took them.
      - With C(status), nothing is changed; the operations in force are returned, and with a selection what it
        means.
    type: str
    choices: [offline, online, status]
    required: true
  socket:
    description: The CPUs of these sockets (physical packages), as a list in the kernel's way (C(0-3,8)), or
      several of them.
    type: raw
  node:
    description: The CPUs of these NUMA nodes.
    type: raw
  die:
    description:
      - The CPUs of these dies, as C([SOCKET:]LIST).
      - Has to be a string, in quotes, since C(1:30) without is the number 90 to YAML.
    type: raw
  core:
    description:
      - The CPUs of these cores, as C([SOCKET:]LIST).
      - Has to be a string, in quotes, since C(1:30) without is the number 90 to YAML.
    type: raw
  core_of:
    description: The whole cores of these CPUs.
    type: raw
  l3_of:
    description: All CPUs that share a last-level cache with these.
    type: raw
  cpu:
    description: These CPUs.
    type: raw
  smt:
    description: Every hardware thread but the first online one of each core; with other selectors, of what
      they name.
    type: bool
    default: false
  apicid:
    description: The CPUs with these initial APIC ids.
    type: raw
  mce:
    description: The cores that reported the machine checks in this text, or in this file of the managed node.
    type: str
  socket_of:
    description: With C(mce), their whole sockets.
    type: bool
    default: false
  near:
    description: The CPUs near this device, a PCI address, network interface or disk, or several of them.
    type: raw
  except:
    description: Never these CPUs.
    type: raw
  operation:
    description:
      - With C(state=online), the operation to undo, by its id, or C(all).
      - One that is not in force is nothing to do.
    type: str
  migrate:
    description: How work is moved away before.
    type: str
    choices: [auto, partition, affinity, none]
  pinned:
    description: What to do with tasks pinned to the selection alone.
    type: str
    choices: [move, refuse]
  method:
    description: How the kernel is made to take the CPUs.
    type: str
    choices: [auto, bulk, smt, sequential]
  batch:
    description: So many CPUs with one write, for C(method=bulk).
    type: int
  on_error:
    description: What to do when a CPU cannot go. With C(stop) and C(continue), a result that is only partly
      as asked is no failure; see C(partial).
    type: str
    choices: [rollback, stop, continue]
  timeout:
    description: Give up waiting for one CPU after so many seconds.
    type: int
  pace:
    description: Pause so many milliseconds between two CPUs.
    type: int
  boost:
    description: Run what CPUs wait for as real-time tasks meanwhile.
    type: bool
    default: false
  measure:
    description: Measure how late a real-time thread on the other CPUs is woken meanwhile.
    type: bool
    default: false
  expedite:
    description: Expedite RCU grace periods meanwhile.
    type: bool
    default: true
  skip_unpluggable:
    description: Take what can go of the selection. A result that is only partly as asked is no failure then;
      see C(partial).
    type: bool
    default: false
  allow_cpu0:
    description: CPU 0 may go, where the kernel lets it.
    type: bool
    default: false
  strict:
    description: Warnings refuse.
    type: bool
    default: false
  force:
    description: Accept the refusals that may be accepted; C(cpuoff --list-rules) marks them.
    type: bool
    default: false
  wait:
    description: Wait for another cpuoff that is at work; with C(state=online), also until ejected CPUs are
      plugged in again.
    type: bool
    default: false
  eject:
    description: Give the CPUs back to the firmware (ACPI) once they are off.
    type: bool
    default: false
  persist:
    description:
      - They stay offline over a reboot, until the operation is undone; the unit C(cpuoff-persist.service) takes
        them again at each boot, and has to be enabled.
      - CPUs that are offline already are left as they are, without this.
    type: bool
    default: false
  sysroot:
    description: A copy of a machine instead of the managed node itself.
    type: path
  state_dir:
    description: Where journals and the lock are.
    type: path
  executable:
    description: The program, where it is not found as C(cpuoff).
    type: path
attributes:
  check_mode:
    description: Runs C(cpuoff --dry-run), with all reasons not to do it.
    support: full
  diff_mode:
    description: Shows every value that stays changed until the CPUs return, before and after.
    support: full
  platform:
    description: Linux.
    platforms: linux
    support: full
'''

EXAMPLES = r'''
- name: Socket 1 is offline
  cpuoff.cpuoff.cpuoff:
    state: offline
    socket: 1
  register: taken

- name: The hardware can be removed
  ansible.builtin.assert:
    that: taken.report.service.safe_to_remove

- name: All that was taken is back
  cpuoff.cpuoff.cpuoff:
    state: online
    operation: all

- name: A failing core and its threads are offline
  cpuoff.cpuoff.cpuoff:
    state: offline
    core: "1:7"
    force: true

- name: Half the threads of socket 0 are offline, but not those of the network card
  cpuoff.cpuoff.cpuoff:
    state: offline
    socket: 0
    smt: true
    except: 40-43

- name: A failing socket stays off over reboots, until it is replaced
  cpuoff.cpuoff.cpuoff:
    state: offline
    socket: 3
    persist: true

- name: These four CPUs are back
  cpuoff.cpuoff.cpuoff:
    state: online
    cpu: 8-11

- name: What is off, and by which operations
  cpuoff.cpuoff.cpuoff:
    state: status
  register: now
'''

RETURN = r'''
report:
  description: The document that C(cpuoff --json) printed, of the run, or of the dry run where there was none.
  returned: where cpuoff printed one
  type: dict
exit_status:
  description: The exit status of cpuoff.
  returned: always
  type: int
  sample: 3
verdict:
  description: The verdict of C(report).
  returned: where cpuoff printed a document
  type: str
  sample: done
machine:
  description: Whether the machine is C(as-asked), C(as-before) or C(in-between).
  returned: where cpuoff printed a document
  type: str
  sample: as-asked
partial:
  description: Some of the selected CPUs did not go, which the options allowed; they are in C(report).
  returned: success
  type: bool
operation:
  description: The id of the operation, to undo it with.
  returned: where CPUs were taken or brought back
  type: str
  sample: 20260314-150926
cpus:
  description: The CPUs that went or came, or would; with C(state=status) those that operations keep offline.
  returned: success
  type: str
  sample: 8-15,24-31
operations:
  description: The operations in force.
  returned: with C(state=status)
  type: list
  elements: dict
selection:
  description: The CPUs of the selection that are online, their number and those that are offline.
  returned: with C(state=status) and a selection
  type: dict
findings:
  description: What the rules had to say.
  returned: where cpuoff printed a document
  type: list
  elements: dict
cmd:
  description: The command that was run last.
  returned: always
  type: list
  elements: str
stderr:
  description: What cpuoff wrote for people.
  returned: always
  type: str
'''

import json

from ansible.module_utils.basic import AnsibleModule

# Options of the module that become --name=VALUE, once for each value
SELECTORS = ('socket', 'node', 'die', 'core', 'core_of', 'l3_of', 'cpu', 'apicid', 'near', 'except')
PLACES = ('die', 'core')
VALUES = ('timeout', 'pace', 'migrate')
OFFLINE_VALUES = ('pinned', 'method', 'batch', 'on_error')
# ... and those that become --name
FLAGS = ('boost', 'measure', 'strict', 'force', 'wait')
OFFLINE_FLAGS = ('skip_unpluggable', 'allow_cpu0', 'eject', 'persist')

# Exit statuses; a dry run has the first one for nothing else
NOTHING_CAN_GO = 1
PARTLY_DONE = 64


def option(name, value=None):
    """The option of cpuoff for an option of the module."""
    text = '--' + name.replace('_', '-')
    return text if value is None else '%s=%s' % (text, value)


def expand(cpus):
    """The numbers of a CPU list."""
    numbers = set()
    for part in cpus.split(','):
        if part:
            first, dash, last = part.partition('-')
            numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def selector_values(module, name):
    """The values of a selector, as strings."""
    value = module.params[name]
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    for item in values:
        wants = 'string' if name in PLACES else 'string or number'
        if isinstance(item, bool) or not isinstance(item, (str, int)) or (
                name in PLACES and not isinstance(item, str)):
            module.fail_json(msg='%s: %r is no %s; put it in quotes' % (name, item, wants), exit_status=2)
    return [str(item) for item in values]


def selection_options(module):
    arguments = []
    for name in SELECTORS:
        arguments += [option(name, value) for value in selector_values(module, name)]
    if module.params['mce'] is not None:
        arguments.append(option('mce', module.params['mce']))
    for name in ('smt', 'socket_of'):
        if module.params[name]:
            arguments.append(option(name))
    return arguments


def control_options(module, is_offline):
    values, flags = VALUES, FLAGS
    if is_offline:
        values, flags = values + OFFLINE_VALUES, flags + OFFLINE_FLAGS
    arguments = [option(name, module.params[name]) for name in values if module.params[name] is not None]
    arguments += [option(name) for name in flags if module.params[name]]
    if not module.params['expedite']:
        arguments.append('--no-expedite')
    return arguments


class Cpuoff:
    """The program, and what its last run returned."""

    def __init__(self, module):
        self.module = module
        self.base = [module.params['executable'] or module.get_bin_path('cpuoff', True, ['/usr/local/sbin'])]
        for name in ('sysroot', 'state_dir'):
            if module.params[name]:
                self.base.append(option(name, module.params[name]))
        self.status = 0
        self.report = None
        self.stderr = ''
        self.cmd = []

    def run(self, *arguments):
        self.cmd = self.base + ['--json'] + list(arguments)
        self.status, stdout, self.stderr = self.module.run_command(
            self.cmd, environ_update={'LC_ALL': 'C'})
        try:
            self.report = json.loads(stdout)
        except ValueError:
            self.report = None
        return self.report

    def result(self, **more):
        result = dict(exit_status=self.status, cmd=self.cmd, stderr=self.stderr)
        if self.report:
            result['report'] = self.report
            for name in ('verdict', 'machine', 'operation', 'findings'):
                if self.report.get(name) is not None:
                    result[name] = self.report[name]
        result.update(more)
        return result

    def reasons(self):
        """Why it did not do what was asked, in the words of cpuoff."""
        reasons = []
        if self.report:
            for finding in self.report.get('findings', []):
                if finding['severity'] == 'refuse':
                    reasons.append('%s [%s]' % (finding['message'], finding['rule']))
                    if finding['remedy']:
                        reasons.append(finding['remedy'])
            for failure in self.report.get('result', {}).get('failed', []):
                reasons += [failure[name] for name in ('message', 'cause', 'remedy') if failure.get(name)]
        return '\n'.join(reasons) or self.stderr.strip() or 'cpuoff ended with the exit status %d' % self.status

    def fail(self):
        # What was changed and not put back is a change
        is_changed = bool(self.report) and self.report.get('machine') == 'in-between' and \
            not self.report.get('dry_run')
        self.module.fail_json(msg=self.reasons(), changed=is_changed, **self.result())

    def ask(self, *arguments):
        """A run that changes nothing and has to succeed."""
        self.run(*arguments)
        if self.status != 0 or self.report is None:
            self.fail()
        return self.report


def diff_of(report):
    """What stays changed until the CPUs return, before and after."""
    steps = [step for step in report['steps']
             if step['lifetime'] == 'until-restore' and step['before'] != step['after']]
    return dict((when, ''.join(sorted('%s %s: %s\n' % (step['kind'], step['object'], step[when])
                                      for step in steps))) for when in ('before', 'after'))


def cpus_of(report, is_offline):
    """The CPUs that change, by a report."""
    result = report['result']
    if is_offline:
        return report['target']['cpus'] if report['dry_run'] else result['offlined']
    return result['onlined']


def is_known_to_be_online(cpuoff):
    """True where every CPU that is offline belongs to an operation, and so none to the selection."""
    known = set()
    for operation in cpuoff.ask('--status')['operations']:
        known |= expand(operation['cpus'])
    offline = set(cpu['cpu'] for cpu in cpuoff.ask('--list')['cpus'] if not cpu['online'])
    return offline <= known


def has_only(report, rule):
    """True where that rule alone refuses."""
    rules = [finding['rule'] for finding in (report or {}).get('findings', []) if finding['severity'] == 'refuse']
    return rules == [rule]


def has_skipped_the_rest(cpuoff, plan):
    """True where all that can go is offline already, and skip_unpluggable leaves the others."""
    return cpuoff.status == NOTHING_CAN_GO and plan is not None and not plan['target']['count'] and \
        plan['target']['already_offline'] != ''


def show_status(module, cpuoff, selection):
    result = {}
    if selection:
        result['selection'] = cpuoff.ask('--list', *selection)['selection']
    operations = cpuoff.ask('--status')['operations']
    module.exit_json(changed=False, partial=False, operations=operations,
                     cpus=','.join(one['cpus'] for one in operations if one['cpus']),
                     **cpuoff.result(**result))


def change(module, cpuoff, action, is_offline, is_partial_allowed):
    plan = cpuoff.run('--dry-run', *action)
    nothing = dict(changed=False, partial=False, cpus='')
    if not is_offline and cpuoff.status == 3 and has_only(plan, 'membership-unknown'):
        refused = cpuoff.result()
        if is_known_to_be_online(cpuoff):
            module.exit_json(msg='no CPU of the selection is offline', **dict(cpuoff.result(), **nothing))
        module.fail_json(**dict(refused, msg=refused['findings'][0]['message']))
    if is_offline and has_skipped_the_rest(cpuoff, plan):
        module.exit_json(**cpuoff.result(**dict(nothing, partial=True)))
    if cpuoff.status not in (0, PARTLY_DONE) or plan is None:
        cpuoff.fail()
    # CPUs that others have taken would be claimed as well by another operation, with each run
    if plan['verdict'] == 'nothing-to-do' or (is_offline and not plan['target']['count']):
        module.exit_json(**cpuoff.result(**nothing))

    diff = diff_of(plan)
    if not module.check_mode:
        report = cpuoff.run(*action)
        if report is None or (cpuoff.status != 0 and not (cpuoff.status == PARTLY_DONE and is_partial_allowed)):
            cpuoff.fail()
    report = cpuoff.report
    module.exit_json(changed=report['verdict'] != 'nothing-to-do', diff=diff,
                     partial=cpuoff.status == PARTLY_DONE, cpus=cpus_of(report, is_offline), **cpuoff.result())


def argument_spec():
    spec = dict(
        state=dict(type='str', choices=['offline', 'online', 'status'], required=True),
        smt=dict(type='bool', default=False),
        mce=dict(type='str'),
        socket_of=dict(type='bool', default=False),
        operation=dict(type='str'),
        migrate=dict(type='str', choices=['auto', 'partition', 'affinity', 'none']),
        pinned=dict(type='str', choices=['move', 'refuse']),
        method=dict(type='str', choices=['auto', 'bulk', 'smt', 'sequential']),
        batch=dict(type='int'),
        on_error=dict(type='str', choices=['rollback', 'stop', 'continue']),
        timeout=dict(type='int'),
        pace=dict(type='int'),
        expedite=dict(type='bool', default=True),
        sysroot=dict(type='path'),
        state_dir=dict(type='path'),
        executable=dict(type='path'),
    )
    spec.update((name, dict(type='raw')) for name in SELECTORS)
    spec.update((name, dict(type='bool', default=False)) for name in FLAGS + OFFLINE_FLAGS)
    return spec


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    state = module.params['state']
    selection = selection_options(module)
    cpuoff = Cpuoff(module)

    if state == 'status':
        show_status(module, cpuoff, selection)
    if state == 'offline':
        if module.params['operation']:
            module.fail_json(msg='operation names what is brought back, and goes with state=online', exit_status=2)
        is_partial_allowed = module.params['skip_unpluggable'] or module.params['on_error'] in ('stop', 'continue')
        change(module, cpuoff, selection + control_options(module, True), True, is_partial_allowed)

    operation = module.params['operation']
    if operation and operation != 'all':
        in_force = [one['id'] for one in cpuoff.ask('--status')['operations']]
        if operation not in in_force:
            module.exit_json(msg='operation %s is not in force' % operation, changed=False, partial=False, cpus='',
                             **cpuoff.result())
    change(module, cpuoff, [option('restore', operation)] + selection + control_options(module, False), False, False)


if __name__ == '__main__':
    main()
