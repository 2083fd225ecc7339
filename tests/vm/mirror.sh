# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# mirror.sh - where the packages for the guests come from: the mirror of this machine's apt

say() {
	echo "${0##*/}: $*" >&2
}

die() {
	say "$*"
	exit 1
}

# sources - the machine's package sources, one "URI SUITE" a line, the ones of
# the release that it runs first: that is most likely a whole mirror
sources() {
	# shellcheck disable=SC1091 # any machine has this file
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE)' \
		'Created-By: Packages' |
		awk -v codename="$codename" '
			$1 !~ /^cdrom:/ && $2 !~ /(-security|\/updates)$/ && !seen[$1]++ {
				if ($2 == codename)
					print
				else
					rest = rest $0 "\n"
			}
			END { printf "%s", rest }'
}

# signed_by URI - the Signed-By that the machine's sources give for this URI, as
# a deb822 field (it may hold a whole key); nothing where apt's own keys are meant
signed_by() {
	etc=$(apt-config shell d Dir::Etc::sourceparts/d)
	eval "${etc:-d=/etc/apt/sources.list.d/}"
	etc=$(apt-config shell f Dir::Etc::sourcelist/f)
	eval "${etc:-f=/etc/apt/sources.list}"
	# shellcheck disable=SC2154 # f and d come from the evals above
	for file in "$f" "$d"*.list "$d"*.sources; do
		[ -r "$file" ] || continue
		case $file in
		*.list)
			awk -v uri="${1%/}" '
				$1 == "deb" && match($0, /\[[^]]*\]/) {
					opts = substr($0, RSTART + 1, RLENGTH - 2)
					rest = substr($0, RSTART + RLENGTH)
					split(rest, word, " ")
					sub(/\/$/, "", word[1])
					if (word[1] != uri || !match(opts, /signed-by=[^ ]*/))
						next
					key = substr(opts, RSTART + 10, RLENGTH - 10)
					gsub(",", " ", key)
					print "Signed-By: " key
					exit
				}' "$file"
			;;
		*.sources)
			awk -v uri="${1%/}" '
				function stanza() {
					if (mine && key != "" && !done) {
						printf "%s", key
						done = 1
					}
					mine = 0
					key = ""
				}
				/^[ \t]*$/ { stanza(); field = ""; next }
				/^#/ { next }
				/^[^ \t]/ {
					field = tolower($0)
					sub(/:.*/, "", field)
				}
				field == "uris" {
					line = $0
					sub(/^[^ \t]*:/, "", line)
					n = split(line, word, " ")
					for (i = 1; i <= n; i++) {
						sub(/\/$/, "", word[i])
						if (word[i] == uri)
							mine = 1
					}
				}
				field == "signed-by" { key = key $0 "\n" }
				END { stanza() }' "$file"
			;;
		esac
	done | awk 'NR > 1 && /^Signed-By/ { exit } { print }'
}

# The private apt: $root/etc, lists and cache instead of the machine's. Its proxy
# settings and credentials stay in force.
private() {
	tool=$1
	shift
	"$tool" -q -o "Dir::Etc::sourcelist=$root/none" -o "Dir::Etc::sourceparts=$root/etc" \
		-o "Dir::Etc::preferences=$root/none" -o "Dir::Etc::preferencesparts=$root/none.d" \
		-o "Dir::State=$root/state" -o "Dir::State::lists=$root/lists" \
		-o "Dir::State::status=$root/status" \
		-o "Dir::State::extended_states=$root/extended_states" \
		-o "Dir::Cache=$root/cache" -o APT::Sandbox::User= \
		-o APT::Architecture=amd64 -o APT::Architectures::=amd64 \
		-o Acquire::Languages=none -o Acquire::Retries=3 \
		-o APT::Update::Post-Invoke-Success= -o APT::Get::List-Cleanup=true \
		-o Dpkg::Use-Pty=false "$@"
}

# open_mirror FOLDER SUITE [deb-src] - a private apt below the folder, which is made anew, with the
# lists of this suite, of packages or of their sources; its mirror in $found
# shellcheck disable=SC2034 # found is for those who read this file
open_mirror() {
	root=$1/apt
	rm -rf "$1"
	mkdir -p "$root/etc" "$root/lists/partial" "$root/cache/archives/partial" \
		"$root/state" "$root/none.d" "$1/packages" "$1/tree"
	: >"$root/status"
	: >"$root/none"
	found=
	list=$(sources)
	for uri in $(echo "$list" | cut -d' ' -f1); do
		{
			echo "Types: ${3:-deb}"
			echo "URIs: $uri"
			echo "Suites: $2"
			echo "Components: main"
			signed_by "$uri"
		} >"$root/etc/guest.sources"
		if private apt-get --error-on=any update >"$1/log" 2>&1; then
			found=$uri
			return
		fi
	done
	sed "s/^/${0##*/}: apt: /" "$1/log" >&2 2>/dev/null || :
	die "none of the machine's package sources has Debian's suite $2"
}
