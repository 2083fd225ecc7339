# SPDX-License-Identifier: GPL-2.0-or-later
# map.sh - --list --map: where every CPU is and what it does, as text and as a picture
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# rows - the rows of the map alone, "NUMBER CELLS"
rows() {
	sed -n 's/^ *\([0-9][0-9]*\)  \([oXs.][oXs. ]*\)$/\1 \2/p' "$out"
}

# cells CHARACTER - how many of them
cells() {
	rows | cut -d' ' -f2- | tr -cd "$1" | wc -c
}

# ---- text ------------------------------------------------------------------------------------

tree_2s text --offline 30-31 --no-online 9
freeze
run --list --map --cpu 4,8-11
status "--map" 0
is "each socket has its rows" "0 oo oo oo oo Xo oo oo oo
8 Xo Xo Xo Xo oo oo o o
30 . ." "$(rows)"
out_says "what the signs mean" '^o online, not selected: 25   X selected: 5   \. offline: 2$'
out_says "a block has a name" '^socket 1, node 1: 8 cores, 8-15,24-29$'
out_says "what is offline is hidden" '^place not known: 2 cores, 30-31$'
untouched "--map"
run --list --map
is "without a selection" "30 0 2" "$(cells o) $(cells X) $(cells .)"

# Journals know where the CPUs were
tree_2s journal
krun --socket 1
run --list --map
is "CPUs that an operation took stand where they were" "0 oo oo oo oo oo oo oo oo
8 .. .. .. .. .. .. .. .." "$(rows)"

tree holes --sockets 2 --cores 4 --threads 1 --dies 2 --possible 12
run --list --map
out_says "dies" '^socket 0, die 1, node 0: 2 cores, 2-3$'
out_says "CPUs that are not there" '^not present: 8-11$'

tree big --sockets 4 --cores 128 --threads 2 --lean --numbering threads-last
run --list --map --socket 1 --cpu 5
status "1024 CPUs" 0
ok "1024 CPUs: a page ($(wc -l <"$out") lines)" test "$(wc -l <"$out")" -le 30
ok "1024 CPUs: 80 columns" not grep -q '.\{81\}' "$out"
out_says "1024 CPUs: what is all alike is cut" 'and 192 more of these'
run --list --map --socket 1 --cpu 5 -v
is "1024 CPUs: -v shows all" "767 257" "$(cells o) $(cells X)"

# ---- pictures --------------------------------------------------------------------------------

picture=$work/map.svg

# well_formed - of the picture
well_formed() {
	if command -v xmllint >/dev/null; then
		xmllint --noout "$picture"
	else
		grep -q '</svg>$' "$picture"
	fi
}

# drawn NAME CLASS NUMBER - so many CPUs of that class
drawn() {
	is "$1: CPUs of the class $2" "$3" "$(grep -c "<rect class=\"$2\"[^>]*><title>CPU" "$picture")"
}

run --list --map="$picture" --socket 1 --cpu 5
status "a picture" 0
ok "a picture: well-formed" well_formed
drawn "a picture" o 767
drawn "a picture" x 257
out_says "a picture: the table is printed" '^socket +die +node'
ok "a picture: for dark grounds, too" grep -q 'prefers-color-scheme:dark' "$picture"
ok "a picture needs nothing else" not grep -Eq 'href|url\(|@import|<script' "$picture"
ok "a picture says where a CPU is" grep -q '<title>CPU 5: selected, socket 0, node 0, core 5</title>' "$picture"
is "a picture: its mode" 644 "$(stat -c %a "$picture")"
is "nothing is left beside it" map.svg "$(find "$work" -name "*.svg*" -printf "%f\\n")"
tree_2s small --offline 30-31
run --list --json --map="$picture" --cpu 4
verdict "a picture, with JSON" 0 'done'
ok "it is replaced" well_formed
drawn "it is replaced" o 29
drawn "it is replaced" d 2
ok "small: numbers are in the cells" grep -q '>31</text>' "$picture"

cp "$picture" "$work/before.svg"
ln "$picture" "$work/other.svg"
run --list --map="$picture"
ok "who has the old file open keeps it whole" cmp "$work/before.svg" "$work/other.svg"
run --list --map="$work/nowhere/map.svg"
status "a folder that is not there" 2
err_says "a folder that is not there" 'nowhere/map.svg cannot be written: No such file.*\[map-file\]'
mkdir "$work/folder.svg"
run --list --json --map="$work/folder.svg"
verdict "a folder" 2 invalid as-before
ok "nothing is left beside it" not test -e "$work"/folder.svg.??????
cp "$picture" "$work/before.svg"
(
	trap '' XFSZ
	ulimit -f 0
	"$CPUOFF" --sysroot="$t" --list --map="$picture" 2>&1
	echo "status $?"
) | cat >"$out"
out_says "a full disk" 'map.svg cannot be written: File too large'
out_says "a full disk" '^status 2$'
ok "a full disk: what was there stays" cmp "$work/before.svg" "$picture"
ln -s "$work/before.svg" "$work/link.svg"
run --list --map="$work/link.svg" --socket 0
ok "a link is replaced" not test -h "$work/link.svg"
ok "and not followed" cmp "$work/before.svg" "$picture"
ok "nothing is left beside either" not test -e "$work"/*.svg.??????
run --list --map="$picture" --socket 9
status "a wrong selection" 2

for shape in "--sockets 1 --cores 1" "--sockets 16 --cores 6" "--sockets 2 --cores 16 --threads 8" \
	"--sockets 1 --cores 8 --nodes 0 --no-ids" "--sockets 2 --cores 24 --nodes 4 --dies 4"; do
	# shellcheck disable=SC2086
	tree shape $shape
	run --list --map="$picture"
	status "$shape" 0
	ok "$shape: well-formed" well_formed
	ok "$shape: no number that is none" not grep -Eq 'nan|inf' "$picture"
done

# ---- usage -----------------------------------------------------------------------------------

for option in --map=map.png --map= --map=.svg; do
	run --list "$option"
	status "$option" 2
done
run --map
status "--map alone" 2
run --status --map
status "--status --map" 2
run --list --map --json
status "--map as JSON" 2

done_testing
