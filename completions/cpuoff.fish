# SPDX-License-Identifier: GPL-2.0-or-later
# cpuoff.fish - fish completion of cpuoff

# The directory that stands for / on this command line
function __cpuoff_root
    string match -rg -- '--sysroot[= ]([^ ]+)' (commandline -c) | string trim -r -c / | tail -n 1
end

# The sockets that the machine shows
function __cpuoff_sockets
    set -l root (__cpuoff_root)
    cat $root/sys/devices/system/cpu/cpu*/topology/physical_package_id 2>/dev/null |
        string match -r '^\d+$' | sort -nu
end

function __cpuoff_nodes
    set -l root (__cpuoff_root)
    path basename $root/sys/devices/system/node/node* 2>/dev/null |
        string match -rg '^node(\d+)$' | sort -n
end

function __cpuoff_cpus
    set -l root (__cpuoff_root)
    for part in (cat $root/sys/devices/system/cpu/present 2>/dev/null | string split ,)
        set -l ends (string split - $part)
        seq $ends[1] $ends[-1]
    end
end

# What has a place in the machine: PCI devices, network interfaces, disks
function __cpuoff_devices
    set -l root (__cpuoff_root)
    path basename $root/sys/bus/pci/devices/* $root/sys/class/net/* $root/sys/class/block/* 2>/dev/null
end

# The operations in force, with their CPUs
function __cpuoff_operations
    set -l root (__cpuoff_root)
    set -l dir (string match -rg -- '--state-dir[= ]([^ ]+)' (commandline -c) | tail -n 1)
    set -l program (commandline -poc)[1]
    set -l id
    set -l seen
    test -n "$root"; and set root --sysroot=$root
    test -n "$dir"; and set dir --state-dir=$dir
    for line in ($program --status --json $root $dir 2>/dev/null)
        set -l field (string split '"' -- $line)
        test "$field[2]" = id; and set id $field[4]
        # one that is recorded is there twice
        test "$field[2]" = cpus -a -n "$id"; and not contains -- $id $seen; or continue
        printf '%s\tCPUs %s\n' $id $field[4]
        set -a seen $id
    end
    printf 'all\tall of them\n'
end

# The last number of a list, with what stands before it
function __cpuoff_list
    set -l word (commandline -ct | string replace -r '^--?[^=]*=' '')
    set -l head (string match -r '^.*,' -- $word)
    test -n "$head"; or set head ''
    printf '%s\n' $head($argv)
end

complete -c cpuoff -f
complete -c cpuoff -s s -l socket -x -a '(__cpuoff_list __cpuoff_sockets)' -d 'These physical packages'
complete -c cpuoff -s n -l node -x -a '(__cpuoff_list __cpuoff_nodes)' -d 'These NUMA nodes'
complete -c cpuoff -s d -l die -x -d 'These dies'
complete -c cpuoff -s C -l core -x -d 'These cores'
complete -c cpuoff -l core-of -x -a '(__cpuoff_list __cpuoff_cpus)' -d 'The whole cores of these CPUs'
complete -c cpuoff -l l3-of -x -a '(__cpuoff_list __cpuoff_cpus)' \
    -d 'All that share a last-level cache with these CPUs'
complete -c cpuoff -s c -l cpu -x -a '(__cpuoff_list __cpuoff_cpus)' -d 'These CPUs'
complete -c cpuoff -s t -l smt -d 'Every hardware thread but the first online one of each core'
complete -c cpuoff -s x -l except -x -a '(__cpuoff_list __cpuoff_cpus)' -d 'Never these CPUs'
complete -c cpuoff -l apicid -x -d 'The CPUs with these initial APIC ids'
complete -c cpuoff -l mce -r -F -d 'The cores that reported these machine checks'
complete -c cpuoff -l socket-of -d 'With --mce: their whole sockets'
complete -c cpuoff -l near -x -a '(__cpuoff_devices)' -d 'The CPUs near a PCI device, network interface or disk'
complete -c cpuoff -l restore -d 'Undo an operation, or bring the selected CPUs back'
complete -c cpuoff -n 'string match -q -- "--restore=*" (commandline -ct)' \
    -a '--restore=(__cpuoff_operations)'
complete -c cpuoff -l status -d 'Show the operations in force'
complete -c cpuoff -l list -d 'Show the machine, and what a selection means'
complete -c cpuoff -l prometheus -d 'With --status: as metrics for Prometheus'
complete -c cpuoff -l map -d 'With --list: every CPU where it is'
complete -c cpuoff -l service -d 'Say whether the hardware of these CPUs can be removed'
complete -c cpuoff -l list-rules -d 'Show all that is looked for, and what to do then'
complete -c cpuoff -l report -d 'Collect what is needed to find a bug'
complete -c cpuoff -l persist -d 'Keep the CPUs off over a reboot'
complete -c cpuoff -n 'string match -q -- "--persist=*" (commandline -ct)' \
    -a '--persist=apply' -d 'Take offline again what is recorded'
complete -c cpuoff -l dry-run -d 'Show the whole plan and change nothing'
complete -c cpuoff -s i -l interactive -d 'Show what would be done, and ask'
complete -c cpuoff -l migrate -x -a 'auto partition affinity none' -d 'How work is moved away before'
complete -c cpuoff -l pinned -x -a 'move refuse' -d 'What to do with tasks pinned to these CPUs alone'
complete -c cpuoff -l method -x -a 'auto bulk smt sequential' -d 'How the kernel is made to take the CPUs'
complete -c cpuoff -l batch -x -d 'So many CPUs with one write, for the method bulk'
complete -c cpuoff -l on-error -x -a 'rollback stop continue' -d 'What to do when a CPU cannot go'
complete -c cpuoff -l timeout -x -d 'Give up waiting for one CPU after so long'
complete -c cpuoff -l pace -x -d 'Pause so many milliseconds between two CPUs'
complete -c cpuoff -l boost -d 'What CPUs wait for runs real-time meanwhile'
complete -c cpuoff -l measure -d 'Measure how late a real-time thread is woken'
complete -c cpuoff -l profile -d 'Show what the time went into'
complete -c cpuoff -l no-expedite -d 'Do not expedite RCU grace periods'
complete -c cpuoff -l skip-unpluggable -d 'Leave CPUs that cannot go'
complete -c cpuoff -l allow-cpu0 -d 'CPU 0 may go'
complete -c cpuoff -l strict -d 'Warnings refuse'
complete -c cpuoff -l force -d 'Accept the refusals that may be accepted'
complete -c cpuoff -l wait -d 'Wait for another cpuoff that runs, and for ejected CPUs'
complete -c cpuoff -l eject -d 'Give the CPUs back to the firmware once they are off'
complete -c cpuoff -l no-hooks -d 'Run no hooks'
complete -c cpuoff -l hooks-dir -x -a '(__fish_complete_directories)' -d 'Where hooks are'
complete -c cpuoff -l hook-timeout -x -d 'A hook fails after so long (seconds)'
complete -c cpuoff -s q -l quiet -d 'Say only what failed'
complete -c cpuoff -s v -l verbose -d 'Say all, item by item'
complete -c cpuoff -l json -d 'One JSON document on stdout'
complete -c cpuoff -l color -x -a 'auto always never' -d 'When text has colour'
complete -c cpuoff -l no-progress -d 'No progress'
complete -c cpuoff -l sysroot -x -a '(__fish_complete_directories)' \
    -d 'A copy of a machine instead of this one'
complete -c cpuoff -l state-dir -x -a '(__fish_complete_directories)' \
    -d 'Where journals and the lock are'
complete -c cpuoff -s V -l version -d 'Print the version'
complete -c cpuoff -s '?' -l help -d 'Print the help'
complete -c cpuoff -l usage -d 'Print a short usage'
