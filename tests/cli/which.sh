# SPDX-License-Identifier: GPL-2.0-or-later
# which.sh - which part is it: APIC ids, machine checks, devices

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# cpuinfo - as x86 has it, of the CPUs online: the initial APIC id is twice the CPU's number
cpuinfo() {
	for cpu in $(expand "$(online)" | tr , ' '); do
		printf 'processor\t: %d\nmodel name\t: A CPU @ 2.00GHz\napicid\t\t: 255\ninitial apicid\t: %d\n\n' \
			"$cpu" $((2 * cpu))
	done >"$t/proc/cpuinfo"
}

tree_which() {
	tree_2s "$@"
	cpuinfo
}

# means DESCRIPTION CPUS OPTION... - the selection is that
means() {
	means_what=$1
	means_cpus=$2
	shift 2
	run --list --json "$@"
	is "$means_what" "0 $means_cpus" "$rc $(json .selection.cpus)"
}

# fails DESCRIPTION STATUS PATTERN OPTION...
fails() {
	fails_what=$1
	fails_status=$2
	fails_pattern=$3
	shift 3
	run --dry-run "$@"
	status "$fails_what" "$fails_status"
	err_says "$fails_what" "$fails_pattern"
}

note "APIC ids"
tree_which apic
means "one" 9 --apicid 18
means "some" 0,8-9 --apicid 0,16-18:2
means "with others" 9,30-31 --apicid 18 --cpu 30-31
fails "none of that number" 2 'no APIC id 19; APIC ids are 0,2,4.*no-such-apicid' --apicid 19
fails "none so high" 2 'no APIC id over' --apicid 99999
fails "no list" 2 'malformed|cannot be read' --apicid 0x12
by_hand 0 9
cpuinfo
fails "a CPU that is offline" 2 'no APIC id 18' --apicid 18
krun --apicid 20 --json
json_is "run" '.target.selectors[0] | [.kind, .id, .cpus] | join(" ")' "apicid 20 10"
fails "for a restore" 2 'cannot be resolved while the CPUs are offline' --restore --apicid 20
run --restore --mce 'mce: [Hardware Error]: CPU 10: Machine Check: 0 Bank 8: cc'
status "a machine check, for a restore" 2
tree_2s arm
fails "a machine without" 2 'no APIC ids' --apicid 0

note "machine checks"
tree_which mce
line='[  12.5] mce: [Hardware Error]: CPU 9: Machine Check: 0 Bank 8: cc00008000010092'
rest='[  12.5] mce: [Hardware Error]: PROCESSOR 0:50654 TIME 1700000000 SOCKET 1 APIC 12 microcode 2006e05'
means "the core" 9,25 --mce "$line"
means "both lines" 9,25 --mce "$line
$rest"
means "the second line alone, by its APIC id" 9,25 --mce "$rest"
means "the socket" 8-15,24-31 --mce "$line" --socket-of
means "the socket, before it" 8-15,24-31 --socket-of --mce "$rest"
printf '%s\n' 'smpboot: CPU 3 is now offline' "$line" "$rest" \
	'mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 1: 90' >"$work/kern.log"
means "a file" 2,9,18,25 --mce "$work/kern.log"
run --list --json --mce "$work/none/kern.log"
status "a file that is not there" 2
any_says "a file that is not there" 'none/kern.log.*No such file'
last="cpuoff --mce - <kern.log"
rc=0
"$CPUOFF" --sysroot="$t" --list --json --mce - <"$work/kern.log" >"$out" 2>"$err" || rc=$?
is "standard input" "0 2,9,18,25" "$rc $(json .selection.cpus)"
means "rasdaemon" 11,27 --mce 'mce_record: bank=8, status= 8c, mci=Corrected_error, cpu_type= Intel Xeon,
cpu= 11, socketid= 1, ip= 0, mcgstatus= 0, mcgcap= f000814, apicid= 16'
means "mcelog" 10,26 --mce 'MCE 0
CPU 10 BANK 5
STATUS 8c MCGSTATUS 0
MCGCAP 1000c14 APICID 14 SOCKETID 1'
krun --mce "$line" --json
verdict "run" 0 'done'
json_is "run" '.target | .cpus + " " + .selectors[0].kind' "9,25 mce"
krun --restore
is "run, and back" "0 0-31" "$rc $(online)"
fails "no machine check" 2 'no machine check' --mce 'all is well'
fails "nothing" 2 'no machine check' --mce ''
fails "--socket-of alone" 2 'socket-of' --socket-of --cpu 9
fails "another APIC id" 3 'CPU 9, APIC id 34.*another APIC id' --mce "$line APIC 22"
fails "another socket" 3 'CPU 9, socket 0.*another socket' --mce "$line SOCKET 0"
fails "a CPU that is not here" 3 'CPU 77 .*does not have.*mce-elsewhere' --mce 'mce: [Hardware Error]: CPU 77: Machine Check: 0'
fails "an APIC id that is not here" 3 'APIC id 119, socket 1 names no CPU' --mce 'mce: [Hardware Error]: SOCKET 1 APIC 77'
fails "a socket alone" 3 'names no CPU; --socket-of' --mce 'mce: [Hardware Error]: SOCKET 1'
means "a socket alone, meant" 8-15,24-31 --socket-of --mce 'mce: [Hardware Error]: SOCKET 1'
fails "a socket that is not here" 3 'socket that is not here' --socket-of --mce 'mce: [Hardware Error]: SOCKET 7'
krun --cpu 25
cpuinfo
run --list --json --mce "$line"
is "its sibling is off already" "0 9 25" "$rc $(json '.selection.cpus + " " + .selection.already_offline')"
run --list --json --mce 'mce: [Hardware Error]: CPU 25: Machine Check: 0 SOCKET 1 APIC 32'
is "a CPU that is off already: its journal knows the core" "0 9 25" \
	"$rc $(json '.selection.cpus + " " + .selection.already_offline')"
by_hand 0 30
fails "a CPU that is off, and nobody knows its core" 3 'hides its core' \
	--mce 'mce: [Hardware Error]: CPU 30: Machine Check: 0'

note "devices"
tree_which near
pci 0000:81:00.0 1 0x020000 mlx5_core 8-15,24-31
on_pci 0000:81:00.0 net net/eth2
pci 0000:82:00.0 0 0x010802 nvme 0-7,16-23
on_pci 0000:82:00.0 block nvme/nvme0/nvme0n1
on_pci 0000:82:00.0 block nvme/nvme0/nvme0n1/nvme0n1p1
pci 0000:83:00.0 -1 0x030000 - 0-31
mkdir -p "$t/sys/devices/virtual/net/br0"
ln -s ../../devices/virtual/net/br0 "$t/sys/class/net/br0"
means "an address" 8-15,24-31 --near 0000:81:00.0
means "an address without its domain" 8-15,24-31 --near 81:00.0
means "a network interface" 8-15,24-31 --near eth2
means "a disk" 0-7,16-23 --near nvme0n1
means "a partition" 0-7,16-23 --near /dev/nvme0n1p1
means "with others" 8-14,24-30 --near eth2 --except 15,31
is "hwloc agrees" "" "$(json '.findings[].message')"
rm "$t/sys/devices/pci0000:00/0000:82:00.0/local_cpus"
means "hwloc sees something else: the kernel counts" 0-7,16-23 --near nvme0n1
ok "hwloc sees something else: a note" says "$out" 'means CPUs 0-7,16-23 in the kernel.s files and CPUs 0-31 to hwloc'
fails "no such device" 2 'no PCI device, network interface or disk eth9.*no-such-device' --near eth9
fails "no such address" 2 'no PCI device' --near 0000:99:00.0
fails "a path" 2 'no PCI device' --near ../../etc
fails "a bridge of nothing" 3 'does not show which CPUs are near br0' --near br0
fails "a device near all" 3 'does not show which CPUs are near 83:00.0.*device-place-unknown' --near 83:00.0
krun --cpu 31
fails "for a restore" 2 'cannot be resolved' --restore --near eth2
echo 8-15,24-30 >"$t/sys/devices/pci0000:00/0000:81:00.0/local_cpulist"
run --list --json --near eth2
is "one of them is off already" "0 8-15,24-30 31" "$rc $(json '.selection.cpus + " " + .selection.already_offline')"

note "devices that are made of others"
# virtual NAME CLASS BELOW... - an interface or disk of the kernel's own, on these
virtual() {
	virtual_dir=$t/sys/devices/virtual/$2/$1
	virtual_class=$2
	mkdir -p "$virtual_dir"
	ln -s "../../devices/virtual/$2/$1" "$t/sys/class/$2/$1"
	shift 2
	[ "$virtual_class" = net ] || mkdir -p "$virtual_dir/slaves" "$virtual_dir/holders"
	for virtual_below in "$@"; do
		case $virtual_class in
		net) ln -s "../$virtual_below" "$virtual_dir/lower_$virtual_below" ;;
		*) ln -s "../../$virtual_below" "$virtual_dir/slaves/$virtual_below" ;;
		esac
	done
}

# Socket 0 has eth0 and nvme0, socket 1 eth1, eth2, nvme1; nobody knows where eth9 and nvme9 are
tree_made() {
	tree_which "$@"
	pci 0000:01:00.0 0 0x020000 mlx5_core 0-7,16-23
	on_pci 0000:01:00.0 net net/eth0
	pci 0000:02:00.0 0 0x010802 nvme 0-7,16-23
	on_pci 0000:02:00.0 block nvme/nvme0/nvme0n1
	pci 0000:81:00.0 1 0x020000 mlx5_core 8-15,24-31
	on_pci 0000:81:00.0 net net/eth1
	pci 0000:81:00.1 1 0x020000 mlx5_core 8-15,24-31
	on_pci 0000:81:00.1 net net/eth2
	pci 0000:82:00.0 1 0x010802 nvme 8-15,24-31
	on_pci 0000:82:00.0 block nvme/nvme1/nvme1n1
	on_pci 0000:82:00.0 block nvme/nvme1/nvme1n1/nvme1n1p1
	: >"$on_pci_path/partition"
	pci 0000:83:00.0 -1 0x020000 igb 0-31
	on_pci 0000:83:00.0 net net/eth9
	virtual lo net
	virtual loop0 block
	virtual tap0 net
}

tree_made made
virtual bond0 net eth1 eth2
means "a bond" 8-15,24-31 --near bond0
is "hwloc agrees" "" "$(json '.findings[].message')"
virtual bond0.10 net bond0
means "a VLAN on a bond" 8-15,24-31 --near bond0.10
virtual br0 net bond0.10 tap0
means "a bridge on a VLAN on a bond, with a virtual machine" 8-15,24-31 --near br0
virtual team0 net eth0
means "a team" 0-7,16-23 --near team0
virtual mixed net eth0 eth1
means "a bond over two sockets: both" 0-31 --near mixed
means "a bond over two sockets, without one of them" 8-15,24-31 --near mixed --except 0-7,16-23
fails "a bridge with a virtual machine alone" 3 'does not show which CPUs are near br1' --near "$(virtual br1 net tap0; echo br1)"
virtual bond9 net eth1 eth9
fails "a bond with a card that is not placed" 3 'does not show which CPUs are near bond9' --near bond9
virtual md0 block nvme1n1p1
means "a RAID on a partition" 8-15,24-31 --near md0
mkdir -p "$t/sys/devices/virtual/block/md0/md0p1"
: >"$t/sys/devices/virtual/block/md0/md0p1/partition"
ln -s ../../devices/virtual/block/md0/md0p1 "$t/sys/class/block/md0p1"
means "a partition of a RAID" 8-15,24-31 --near /dev/md0p1
virtual dm-0 block md0p1
virtual dm-1 block dm-0
means "an encrypted volume on a RAID" 8-15,24-31 --near dm-1
mkdir "$virtual_dir/dm"
echo vg-home >"$virtual_dir/dm/name"
means "by its name" 8-15,24-31 --near /dev/mapper/vg-home
fails "no such name" 2 'no PCI device, network interface or disk /dev/mapper/vg' --near /dev/mapper/vg
virtual md1 block nvme0n1 nvme1n1
means "a RAID over two sockets" 0-31 --near md1
fails "a loop device" 3 'does not show which CPUs are near loop0' --near loop0
mkdir -p "$t/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme7n1" "$t/sys/class/nvme-subsystem" "$t/sys/class/nvme"
ln -s ../../devices/virtual/nvme-subsystem/nvme-subsys0 "$t/sys/class/nvme-subsystem/nvme-subsys0"
ln -s ../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme7n1 "$t/sys/class/block/nvme7n1"
for path in 0:02 1:82; do
	ln -s "../../devices/pci0000:00/0000:${path#*:}:00.0/nvme/nvme${path%:*}" "$t/sys/class/nvme/nvme${path%:*}"
	ln -s "../../../pci0000:00/0000:${path#*:}:00.0/nvme/nvme${path%:*}" \
		"$t/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme${path%:*}"
done
means "a disk with two paths" 0-31 --near nvme7n1
rm "$t/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0"
means "a disk with one path" 8-15,24-31 --near nvme7n1
virtual ring0 net ring1
virtual ring1 net ring0
fails "a ring ends" 3 'does not show which CPUs are near ring0' --near ring0
krun --near bond0 --json
json_is "run" '.verdict + " " + .target.cpus' "done 8-15,24-31"

done_testing
