# SPDX-License-Identifier: GPL-2.0-or-later
# deb.sh - the Debian package: built from the tarball, without a complaint of lintian, in and out without a trace
# shellcheck disable=SC2016

# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

needs dpkg-buildpackage dh lintian debootstrap unshare
[ "$(id -u)" -eq 0 ] || missing "only root can make a root to install into"

# Its own tests are those of this tree, which are run anyway
[ -n "${CPUOFF_VM_LONG:-}" ] || export DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS:-}"
[ -e /usr/include/cpuset.h ] || export DEB_BUILD_PROFILES="pkg.cpuoff.nocpuset ${DEB_BUILD_PROFILES:-}"
built=$work/built
step "the package is built from the tarball" sh "$abs_top_srcdir/packaging/build-deb" "$tarball" "$built" || done_testing
set -- "$built"/cpuoff_*.deb
deb=$1
is "one package of this version" "cpuoff $version-1" "$(dpkg-deb -f "$deb" Package) $(dpkg-deb -f "$deb" Version)"

dpkg-deb -c "$deb" | awk '$1 !~ /^d/ { print $6 }' >"$work/files"
for file in usr/sbin/cpuoff usr/share/man/man8/cpuoff.8.gz usr/share/cpuoff/cpuoff.schema.json \
	usr/share/bash-completion/completions/cpuoff usr/share/zsh/site-functions/_cpuoff \
	usr/share/fish/vendor_completions.d/cpuoff.fish usr/share/doc/cpuoff/copyright \
	usr/share/doc/cpuoff/examples/hooks/slurm; do
	ok "it has /$file" grep -q -x "./$file" "$work/files"
done

ok "it has the unit of systemd" grep -q -x -E '\./(usr/)?lib/systemd/system/cpuoff-persist\.service' "$work/files"

step "lintian has no error or warning" lintian --allow-root -EIL +pedantic --fail-on error,warning \
	"$built"/cpuoff_*.changes

# ---- in a minimal system: in, at work, out ---------------------------------------------------

dependencies=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/[ ,]\{1,\}/ /g; s/^ //; s/ $//' | tr ' ' ,)
step "there is a minimal system" sh "$abs_top_srcdir/tests/packaging/minbase" "$dependencies" || done_testing
archive=$(cat "$out")
root=$work/root
mkdir "$root"
step "it can be unpacked" tar -C "$root" --numeric-owner -xpf "$archive" || done_testing

in_root() {
	unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}

# All that is there, but for what dpkg writes for itself
files() {
	(cd "$root" && find . -xdev -printf '%p %y %m %U %G %l\n' | sort |
		grep -v -E '^\./var/(lib/dpkg/(status|status-old|available|lock.*|triggers/Lock)|log/dpkg\.log) ')
}

dpkg_status() {
	in_root dpkg-query -f '${Package} ${Status} ${Version}\n' -W
}

cp "$deb" "$root/tmp/cpuoff.deb"
tree_2s machine
cp -R "$t" "$root/tmp/machine"
files >"$work/before"
dpkg_status >"$work/status.before"

step "it is installed" in_root dpkg -i /tmp/cpuoff.deb
step "it runs" in_root cpuoff --version
is "it says its version" "cpuoff $version" "$(head -n 1 "$out")"
step "it reads a machine" in_root cpuoff --sysroot=/tmp/machine --list --socket 1
out_says "it reads a machine" '8-15,24-31'
step "what it needs is installed" in_root dpkg --audit
is "what it needs is installed" '' "$(cat "$out")"

step "it is removed" in_root dpkg -r cpuoff
is "nothing is said where no CPU is off" '' "$(cat "$err")"
step "it is purged" in_root dpkg -P cpuoff
files >"$work/after"
step "no file is left" diff "$work/before" "$work/after"
dpkg_status >"$work/status.after"
step "the status of packages is as before" diff "$work/status.before" "$work/status.after"

# What runs leave, and a journal of CPUs that are off
step "it is installed again" in_root dpkg -i /tmp/cpuoff.deb
mkdir -p "$root/run/cpuoff" "$root/var/lib/cpuoff"
: >"$root/run/cpuoff/lock"
echo '{}' >"$root/run/cpuoff/20260314-150926.json"
step "it is removed while CPUs are off" in_root dpkg -r cpuoff
err_says "it is removed while CPUs are off" 'still offline.*--restore=all'
ok "the journal stays" test -e "$root/run/cpuoff/20260314-150926.json"
step "it is purged while CPUs are off" in_root dpkg -P cpuoff
ok "the journal still stays" test -e "$root/run/cpuoff/20260314-150926.json"
rm "$root/run/cpuoff/20260314-150926.json"
step "it is installed once more" in_root dpkg -i /tmp/cpuoff.deb
: >"$root/run/cpuoff/lock"
step "it is purged at once" in_root dpkg -P cpuoff
files >"$work/after"
step "no file is left of its runs" diff "$work/before" "$work/after"

done_testing
