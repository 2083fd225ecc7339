# SPDX-License-Identifier: GPL-2.0-or-later
# queues.sh - masks of network queues: moved, given back, shared by operations, and left to others
# shellcheck disable=SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

rx=sys/class/net/eth0/queues/rx-0/rps_cpus
tx=sys/class/net/eth0/queues/tx-0/xps_cpus

# A machine of 64 CPUs, 32-63 in socket 1, whose queues have CPUs of it
machine() {
	tree "$1" --sockets 2 --cores 32
	put $rx 00000300,00000000
	put $tx 00000001,00000001
	freeze
}

masks() {
	echo "$(cat "$t/$rx") $(cat "$t/$tx")"
}

# only_low MASK - whether a mask of two words has CPUs below 32, and no other
only_low() {
	[ "${1%%,*}" = 00000000 ] && [ "${1##*,}" != 00000000 ]
}

# ---- one operation -----------------------------------------------------------------------------

machine one
krun --socket 1 --json
verdict "off" 0 'done' as-asked
ok "a mask that lies inside goes to CPUs that stay" only_low "$(cat "$t/$rx")"
is "one that has others stays" 00000001,00000001 "$(cat "$t/$tx")"
json_is "and is no item" '[.steps[] | select(.kind == "net.xps").items[]?] | length' 0
krun --restore --json
verdict "restore" 0 'done' as-asked
is "given back" "00000300,00000000 00000001,00000001" "$(masks)"
as_before "restore"

machine others
krun --socket 1
put $rx 00000000,00000040
krun --restore --json
verdict "somebody has changed it" 0 'done' as-asked
is "somebody has changed it: theirs" 00000000,00000040 "$(cat "$t/$rx")"

machine gone
krun --socket 1
rm "$t/$rx"
krun --restore --json
verdict "the queue has gone" 0 'done' as-asked

machine refused
new_rules "$rx write EIO"
krun --socket 1 --json
verdict "it cannot be moved" 0 'done' as-asked
err_says "it cannot be moved" "net.rps: /$rx could not be changed: Input/output error"
new_rules
krun --restore --json
verdict "it was not moved: restore" 0 'done' as-asked
as_before "it was not moved: restore"

# The driver writes it anew as CPUs go and come
machine virtio
put sys/class/net/eth0/device/uevent DRIVER=virtio_net
freeze
krun --socket 1 --json
verdict "a driver that writes it" 0 'done' as-asked
is "a driver that writes it: left to it" 00000001,00000001 "$(cat "$t/$tx")"
put $tx 00000000,000000ff
krun --restore --json
verdict "a driver that writes it: restore" 0 'done' as-asked
as_before "a driver that writes it: restore"

# More CPUs than stay
tree few --sockets 2 --cores 4 --threads 1
put $rx f0
freeze
krun --cpu 1-7
is "as many as there are" "0 01" "$rc $(cat "$t/$rx")"
krun --restore --json
verdict "as many as there are: restore" 0 'done' as-asked
as_before "as many as there are: restore"

# ---- two of them, undone in either order --------------------------------------------------------

for order in "first second" "second first"; do
	machine two
	krun --cpu 40-41 --json
	first=$(json .operation)
	moved=$(cat "$t/$rx")
	ok "$order: the first one moves it" test "$moved" != 00000300,00000000
	krun --socket 1 --json
	second=$(json .operation)
	ok "$order: the second one, too" only_low "$(cat "$t/$rx")"
	for which in $order; do
		id=$first
		[ "$which" = first ] || id=$second
		krun --restore="$id" --json
		verdict "$order: restore of the $which" 0 'done'
		[ "$(journals)" = 0 ] || ok "$order: not given back while its CPUs are off" \
			test "$(cat "$t/$rx")" != 00000300,00000000
	done
	as_before "$order: both"
done

done_testing
