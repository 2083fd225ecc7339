# SPDX-License-Identifier: GPL-2.0-or-later
# rpm.sh - the RPM package: built from the tarball, without a complaint of rpmlint
# shellcheck disable=SC2317

# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

needs rpmbuild rpm rpmlint
set -- --nodeps
[ -n "${CPUOFF_VM_LONG:-}" ] || set -- "$@" --nocheck
built=$work/built
step "the package is built from the tarball" sh "$abs_top_srcdir/packaging/build-rpm" "$tarball" "$built" "$@" ||
	done_testing
rpm=$(find "$built" -name 'cpuoff-[0-9]*.rpm' ! -name '*.src.rpm')
is "one package of this version" "cpuoff $version" "$(rpm -qp --qf '%{NAME} %{VERSION}' "$rpm")"
ok "its source is a package too" test -s "$built/cpuoff-$version-1.src.rpm"

rpm -qlp "$rpm" >"$work/files"
for file in /usr/sbin/cpuoff /usr/share/cpuoff/cpuoff.schema.json \
	/usr/share/bash-completion/completions/cpuoff /usr/share/zsh/site-functions/_cpuoff \
	/usr/share/fish/vendor_completions.d/cpuoff.fish \
	/usr/lib/systemd/system/cpuoff-persist.service; do
	ok "it has $file" grep -q -x "$file" "$work/files"
done
ok "it has the examples" grep -q '/examples/hooks/slurm$' "$work/files"
ok "it has the manual page" grep -q '^/usr/share/man/man8/cpuoff[.]8' "$work/files"

step "rpmlint has nothing to say" rpmlint --strict -c "$abs_top_srcdir/packaging/rpm/rpmlint.toml" "$built"/cpuoff-*.rpm
step "rpmlint has nothing to say of the spec" rpmlint --strict -c "$abs_top_srcdir/packaging/rpm/rpmlint.toml" \
	"$abs_top_srcdir/packaging/rpm/cpuoff.spec"

# ---- in and out, in a root of its own ----------------------------------------------------------

if [ "$(id -u)" -ne 0 ]; then
	skip "it is installed" "only root can use another root"
	done_testing
fi

in_root() {
	rpm --root "$work/root" --dbpath /db "$@"
}

# All that is there, but for rpm's own and for folders that a real system has anyway
files() {
	(cd "$work/root" && find . -path ./db -prune -o \( ! -type d -o -name '*cpuoff*' \) -print)
}

mkdir -p "$work/root/db"
step "there is an empty system" in_root --initdb
step "it is installed" in_root -i --nodeps --noscripts "$rpm"
step "it is there as it was built" in_root -V --nodeps cpuoff
step "it runs" "$work/root/usr/sbin/cpuoff" --version
is "it says its version" "cpuoff $version" "$(head -n 1 "$out")"
step "it is removed" in_root -e --noscripts cpuoff
is "nothing of it is left" '' "$(files)"

done_testing
