# SPDX-License-Identifier: GPL-2.0-or-later
# service.sh - the service verdict: CPUs, memory and devices that are in the way
# shellcheck disable=SC2016,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

schema=$abs_top_srcdir/share/cpuoff/cpuoff.schema.json
is_valid() {
	jq -es --slurpfile schema "$schema" -f "$here/schema.jq" "$out"
}

# verdict_is DESCRIPTION true|false "KIND OBJECT,KIND OBJECT" - of the last run with --json
verdict_is() {
	json_is "$1" .service.safe_to_remove "$2"
	json_is "$1" '.service.blockers | map(.kind + " " + .object) | join(",")' "$3"
	ok "$1: as the schema has it" is_valid
}

# message KIND PATTERN
has_message() {
	jq -e --arg kind "$1" --arg pattern "$2" \
		'[.service.blockers[] | select(.kind == $kind) | .message | test($pattern)] | any' "$out" >/dev/null
}

# Two sockets, each a node, whose memory is all offline: nothing is in the way of socket 1
tree_bare() {
	tree_2s "$@"
	mkdir "$t/sys/bus"
	block 0 0 online Normal
	block 1 8 offline 'Movable Normal'
	block 1 9 offline 'Movable Normal'
}

note "nothing is in the way"
tree_bare bare
freeze
run --socket 1 --dry-run --json
verdict "forecast" 0 ready
verdict_is "forecast" true ""
run --socket 1 --dry-run
out_says "forecast" 'once they are off: safe to remove'
run --socket 1 --service --json
verdict "before" 0 'done'
json_is "before" '.action + " " + .selection.cpus' "service 8-15,24-31"
verdict_is "before" false "cpu socket 1"
ok "before: which CPUs" has_message cpu '8-15,24-31'
untouched "--service and a forecast"
krun --socket 1 --json
verdict "run" 0 'done'
verdict_is "run" true ""
run --socket 1 --service --json
verdict_is "after" true ""
json_is "after" .selection.already_offline 8-15,24-31
run --socket 1 --service
out_says "after" 'safe to remove: no CPU'
ok "after: the verdict alone" test "$(wc -l <"$out")" -eq 1
krun --restore --json
verdict_is "restore" false "not-checked memory and devices"

note "CPUs"
tree_bare cpus
run --core-of 9 --dry-run --json
verdict_is "a core of a socket" false "cpu socket 1"
ok "a core of a socket: the others" has_message cpu '14 CPUs of socket 1 are online: 8,10-15,24,26-31'
krun --socket 1 --json --except 12
verdict_is "all but one" false "cpu socket 1"
ok "all but one: it" has_message cpu '1 CPU of socket 1 is online: 12'
new_rules 'cpu20 offline EBUSY' 'cpu20 offline EBUSY'
tree_bare kept --no-online 30
krun --socket 1 --skip-unpluggable --json
verdict "skipped" 64 partial
verdict_is "skipped" false "cpu socket 1"
ok "skipped: it" has_message cpu 'online: 30$'
tree_bare failed
new_rules 'cpu9 offline ENOSPC'
krun --socket 1 --json
verdict "rolled back" 1 rolled-back
verdict_is "rolled back" false "cpu socket 1"
tree_bare nodes --nodes 2
run --node 2 --dry-run --json
verdict_is "half a socket" false "cpu socket 1,memory node 2,memory node 3"
tree_bare plain
by_hand 0 30
run --socket 1 --dry-run --json
verdict_is "one is off, nobody knows of which socket" true ""
run --cpu 30 --service --json
ok "the place of it is hidden" has_message not-checked 'hides the place'
json_is "the place of it is hidden" .service.safe_to_remove false
tree no-numa --sockets 2 --cores 4 --nodes 0
mkdir "$t/sys/bus"
run --socket 1 --dry-run --json
verdict_is "no NUMA nodes" false "memory machine"
tree_bare unseen
rm -r "$t/sys/bus" "$t/sys/devices/system/node/node1/meminfo" "$t/sys/devices/system/node/node1"/memory*
run --socket 1 --dry-run --json
verdict_is "a copy without memory and devices" false "not-checked node 1,not-checked PCI devices"

note "memory"
tree_bare memory
block 1 10 online Movable
run --socket 1 --dry-run --json
verdict_is "a movable block" false "memory node 1"
ok "a movable block: it" has_message memory '1 memory block online, 128 MiB, 8.0 GiB of it in use; all are movable.*memory 10$'
block 1 11 online Normal
block 1 12 going-offline Normal
run --socket 1 --dry-run --json
ok "a fixed block: which" has_message memory '3 memory blocks online, 384 MiB.*cannot be moved in 2: memory 11-12; movable: memory 10$'
tree_2s no-blocks
mkdir "$t/sys/bus"
run --socket 1 --dry-run --json
verdict_is "memory without blocks" false "memory node 1"
tree_bare beside --memory-node
mkdir -p "$t/sys/devices/system/node/node2/access0/initiators/node1"
run --socket 1 --dry-run --json
verdict_is "memory beside socket 1" false "memory node 2"
mkdir -p "$t/sys/devices/system/node/node2/access0/initiators/node0"
run --socket 1 --dry-run --json
verdict_is "memory between the sockets" true ""

note "devices"
tree_bare devices
pci 0000:01:00.0 0 0x020000 e1000 0-7,16-23
pci 0000:80:01.0 1 0x060400 pcieport 8-15,24-31
run --socket 1 --dry-run --json
verdict_is "a bridge" false "device unused PCI devices"
ok "a bridge: which" has_message device '1 PCI device is local to it.*0000:80:01.0$'
pci 0000:80:02.0 1 0x108000 - 8-15,24-31
run --socket 1 --dry-run --json
ok "no driver: which" has_message device '2 PCI devices are local.*0000:80:01.0, 0000:80:02.0$'
pci 0000:81:00.0 1 0x020000 mlx5_core 8-15,24-31
on_pci 0000:81:00.0 net net/eth2
echo 0x1002 >"$on_pci_path/flags"
run --socket 1 --dry-run --json
verdict_is "a network card" false "device 0000:81:00.0,device unused PCI devices"
ok "a network card: down" has_message device 'network 0000:81:00.0 is local to it .driver mlx5_core.: no use of it is seen'
echo 0x1003 >"$on_pci_path/flags"
mkdir -p "$t/sys/kernel/iommu_groups/41"
ln -s ../../../kernel/iommu_groups/41 "$t/sys/devices/pci0000:00/0000:81:00.0/iommu_group"
run --socket 1 --dry-run --json
ok "a network card: up" has_message device 'driver mlx5_core, IOMMU group 41.: eth2 is up'
pci 0000:82:00.0 1 0x010802 nvme 8-15,24-31
on_pci 0000:82:00.0 block nvme/nvme0/nvme0n1
on_pci 0000:82:00.0 block nvme/nvme0/nvme0n1/nvme0n1p1
on_pci 0000:82:00.0 block nvme/nvme0/nvme0n1/nvme0n1p2
mkdir "$on_pci_path/holders"
ln -s ../../../../../virtual/block/dm-0 "$on_pci_path/holders/dm-0"
run --socket 1 --dry-run --json
ok "a disk: held" has_message device 'NVMe disk.*nvme0n1p2 is held by dm-0$'
mkdir -p "$t/sys/devices/virtual/block/dm-0/dm"
ln -s ../../devices/virtual/block/dm-0 "$t/sys/class/block/dm-0"
echo vg-home >"$t/sys/devices/virtual/block/dm-0/dm/name"
printf '%s\n' 'proc /proc proc rw 0 0' '/dev/nvme0n1p1 /srv ext4 rw 0 0' '/dev/nvme0n1p11 /other ext4 rw 0 0' \
	'/dev/mapper/vg-home /home xfs rw 0 0' >"$t/proc/mounts"
run --socket 1 --dry-run --json
ok "a disk: mounted" has_message device 'nvme0n1p1 is mounted on /srv, nvme0n1p2 is mounted on /home through dm-0$'
printf '%s\n' 'Filename Type Size Used Priority' '/dev/nvme0n1p1 partition 1 0 -2' >"$t/proc/swaps"
: >"$t/proc/mounts"
run --socket 1 --dry-run --json
ok "a disk: swap" has_message device 'nvme0n1p1 is used as swap, nvme0n1p2 is held by dm-0'
pci 0000:83:00.0 1 0x030000 vfio-pci 8-15,24-31
run --socket 1 --dry-run --json
ok "a device of a virtual machine" has_message device 'given to a virtual machine'
run --socket 0 --allow-cpu0 --dry-run --json
ok "the other socket has its own" has_message device '0000:01:00.0'
ok "the other socket has its own alone" not has_message device '0000:8'
run --socket 1 --dry-run
out_says "as text" 'not safe to remove, 4 things are in the way'
out_says "as text" '  device +NVMe disk'
tree_bare unplaced
pci 0000:81:00.0 -1 0x020000 mlx5_core 8-15
run --socket 1 --dry-run --json
verdict_is "a device without a node, near these CPUs alone" false "device 0000:81:00.0"
tree_bare unplaced
pci 0000:81:00.0 -1 0x020000 mlx5_core 0-31
run --socket 1 --dry-run --json
verdict_is "a device without a node, near all" true ""

note "what cannot be judged"
tree_bare refused --memory-node
run --service --json
verdict "no selection" 2 invalid
run --service --socket 7 --json
verdict "no such socket" 2 invalid
verdict_is "no such socket" false "not-checked memory and devices"
run --service --node 2 --json
verdict "a node without CPUs" 3 refused
verdict_is "a node without CPUs" false "not-checked memory and devices"
run --service --socket 1 --dry-run
status "--service and --dry-run" 2
run --service --status
status "--service and --status" 2
krun --socket 0-1 --allow-cpu0 --json
verdict "refused" 3 refused
json_is "refused" .service.safe_to_remove false

done_testing
