# SPDX-License-Identifier: GPL-2.0-or-later
# confinement.sh - the unit of systemd is as tight as was reached, and the profiles are valid

# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
needs systemd-analyze apparmor_parser make
selinux=/usr/share/selinux/devel/Makefile
[ -f "$selinux" ] || missing "selinux-policy-dev is not installed"

# ---- the unit --------------------------------------------------------------------------------

# What is left: it runs as root, writes to /sys, cgroups and /proc/irq, looks at all tasks, reads the
# kernel's log and talks to irqbalance. Ten times the level of exposure
exposure=32
unit=$work/cpuoff-persist.service
program=$(command -v true)
sed -e "s|@sbindir@/cpuoff|$program|" -e 's|@persistdir@|/var/lib/cpuoff|' \
	"$abs_top_srcdir/share/systemd/cpuoff-persist.service.in" >"$unit"
step "the unit is valid" systemd-analyze verify --man=no "$unit"
is "nothing is said of it" '' "$(cat "$err")"
step "its exposure is $exposure at most" systemd-analyze security --offline=true --threshold=$exposure --no-pager "$unit"
note "$(tail -n 1 "$out")"

# ---- the examples ----------------------------------------------------------------------------

step "the profile of AppArmor is valid" apparmor_parser --skip-kernel-load --skip-cache \
	"$abs_top_srcdir/packaging/apparmor/usr.sbin.cpuoff"
cp "$abs_top_srcdir"/packaging/selinux/cpuoff.* "$work"
chmod u+w "$work"/cpuoff.*
step "the module of SELinux can be built" make -C "$work" -f "$selinux" cpuoff.pp
ok "it is there" test -s "$work/cpuoff.pp"

# What the kernel is asked for, what the manual tells, and what the profiles allow is the same
awk '/process_keeps =/, /;/' "$abs_top_srcdir/src/host/privileges.c" | grep -o 'CAP_[A-Z_]*' | sort -u >"$work/kept"
sed -n '/^\.SH PRIVILEGES/, /^\.SH SIGNALS/s/^\.BR* *//p' "$abs_top_srcdir/man/cpuoff.8.in" | grep -o 'CAP_[A-Z_]*' |
	sort -u >"$work/told"
sed -n 's/^  capability \(.*\),$/CAP_\1/p' "$abs_top_srcdir/packaging/apparmor/usr.sbin.cpuoff" | tr '[:lower:]' '[:upper:]' |
	sort -u >"$work/apparmor"
sed -n 's/^allow cpuoff_t self:capability2* {* *\([a-z_ ]*\).*/\1/p' "$abs_top_srcdir/packaging/selinux/cpuoff.te" |
	tr ' [:lower:]' '\n[:upper:]' | sed '/./s/^/CAP_/; /^$/d' | sort -u >"$work/selinux"
is "ten capabilities are kept" 10 "$(wc -l <"$work/kept")"
for place in told apparmor selinux; do
	step "the same ones: $place" diff "$work/kept" "$work/$place"
done

done_testing
