# SPDX-License-Identifier: GPL-2.0-or-later
# coverage.awk - sums up what gcov says of files, by room: "ROOM PERCENT LINES", and "FILE ..." likewise
/^File / {
	split($0, quoted, "'")
	file = quoted[2]
	sub(/^.*src\//, "src/", file)
}
/^Lines executed:/ && file ~ /^src\/[a-z]*\/[^\/]*[.]c$/ {
	split($0, part, /[:% ]+/)
	lines = $NF
	covered = lines * part[3] / 100
	room = file
	sub(/^src\//, "", room)
	sub(/\/.*/, "", room)
	all[room] += lines
	run[room] += covered
	printf "%s %.1f %d\n", file, part[3], lines
	file = ""
}
END {
	for (room in all)
		printf "%s %.1f %d\n", room, 100 * run[room] / all[room], all[room]
}
