# SPDX-License-Identifier: GPL-2.0-or-later
# report.jq - from the measurements of all rounds: medians, ratios, targets and the table

def round_to(n): if . == null then null else . * pow(10; n) | round / pow(10; n) end;
def median: map(select(. != null)) | sort | length as $n |
	if $n == 0 then null elif $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
def ratio($a; $b): if $a == null or $b == null or $b == 0 then null else $a / $b | round_to(2) end;
def cell: if . == null then "-" else tostring end;
def ms: if . == null then "-" else . * 1000 | round | tostring end;
def line: "| " + join(" | ") + " |";

# The slope of log(value) over log(size), by least squares
def exponent: map([(.size | log), (.seconds | log)]) | length as $n | (map(.[0]) | add / $n) as $x |
	(map(.[1]) | add / $n) as $y |
	(map((.[0] - $x) * (.[1] - $y)) | add) / (map((.[0] - $x) | . * .) | add) | round_to(2);

def medians_of($direction; $keys): . as $all | reduce $keys[] as $key ({};
	.[$key] = ($all | map(.[$direction][$key]) | median));

# Stalls are triples of the instant, the delay, both in ms, and the number of CPUs online then: of those that
# came while CPUs went, the longest in us, and how many came sooner than $pace ms after the one before
def while_going: .cpus as $all | .left as $left | .off.stalls // empty | map(select(.[2] < $all and .[2] > $left));
def longest_going: [while_going | map(.[1]) | max // 0 | . * 1000 | round] | first;
def too_soon($pace): [while_going | map(.[0]) |
	[range(1; length) as $i | .[$i] - .[$i - 1] | select(. < $pace)] | length] | first;

# A case of groups is the sum of them
def total(f): map(f) | if any(. == null) then null else add end;
def highest(f): map(f) | if any(. == null) then null else max end;
def sum_of_groups: if length == 1 then .[0] else { seconds: total(.seconds), own_seconds: total(.own_seconds),
	arrived: total(.arrived), moved: total(.moved), interrupts: total(.interrupts),
	longest_us: highest(.longest_us), above_1ms: total(.above_1ms) } end;

map(select(.offs) | .off = (.offs | sum_of_groups)) as $removals |
map(select(.planning)) as $plans |

# One row for each guest, load, case and way
($removals | group_by([.kernel, .cpus, .load, .case, .way]) | map(. as $rounds | .[0] |
	{ kernel: (.kernel | split(".") | .[:2] | join(".")), cpus, load, case, way, rounds: ($rounds | length), too_soon: ($rounds | map(too_soon(20)) | median),
	longest_going: ($rounds | map(longest_going) | median),
	off: ($rounds | medians_of("off"; ["seconds", "own_seconds", "arrived", "moved", "interrupts",
		"longest_us", "above_1ms"])),
	back: ($rounds | medians_of("back"; ["seconds", "own_seconds", "longest_us"])) })) as $rows |

# The ways of one guest, load and case beside each other
($rows | group_by([.kernel, .cpus, .load, .case]) | map((map({ (.way): . }) | add) as $ways |
	map(. + { speed: ratio($ways.chcpu.off.seconds; .off.seconds),
	work_speed: ratio($ways.chcpu.off.seconds; .off.own_seconds // .off.seconds),
	back_speed: ratio($ways.chcpu.back.seconds; .back.seconds),
	back_work_speed: ratio($ways.chcpu.back.seconds; .back.own_seconds // .back.seconds),
	over_floor: ratio(.off.own_seconds // .off.seconds; $ways.floor.off.seconds),
	longest: ratio(.off.longest_us; $ways.chcpu.off.longest_us),
	longest_going_ratio: ratio(.longest_going; $ways.chcpu.longest_going),
	others_arrived: ([$ways.loop, $ways.chcpu] | map(.off.arrived // 0) | max) })) | flatten) as $rows |

($plans | group_by([.planning, .way, .size]) | map(. as $rounds | .[0] | { planning, way, size,
	seconds: ($rounds | map(.cpu_seconds) | median), wall_seconds: ($rounds | map(.seconds) | median),
	kib: ($rounds | map(.kib) | max) })) as $planning |
($planning | group_by([.planning, .way]) | map({ planning: .[0].planning, way: .[0].way,
	exponent: (if length > 1 then exponent else null end) })) as $exponents |

def plan($what; $way; $size): first($planning[] | select(.planning == $what and .way == $way and .size == $size)) // null;
def target($what; $value; $sense; $limit): if $value == null then empty else
	{ what: $what, value: $value, target: "\($sense) \($limit)",
	is_met: (if $sense == "at least" then $value >= $limit else $value <= $limit end),
	is_near: (if $sense == "at least" then $value >= $limit * 2 / 3 else $value <= $limit * 3 / 2 end) } end;
def name: "Linux \(.kernel), \(.cpus) CPUs, \(.load), \(.case)";

# Of the plan before the work too little is under test for a failure, and of one maximum of few rounds
def not_to_fail: if $mode == "quick" then .is_near = true else . end;

[($rows[] | select(.way == "cpuoff") | name as $name |
	(if .case == "half" and (.cpus >= 64 or .load == "sleepers") then
		(if .cpus < 64 and (.kernel | startswith("7")) then 4 else 6 end) as $limit |
		target("\($name): times as fast as chcpu -d"; .work_speed; "at least"; $limit),
		(target("\($name): the same, from fork to exit"; .speed; "at least"; $limit) | not_to_fail)
	else empty end),
	(if .case == "half" and .cpus >= 64 then
		(if .cpus >= 128 then 3.5 else 2.2 end) as $limit |
		target("\($name): times as fast back as chcpu -e"; .back_work_speed; "at least"; $limit),
		(target("\($name): the same, from fork to exit"; .back_speed; "at least"; $limit) | not_to_fail)
	else empty end),
	target("\($name): times the floor"; .over_floor; "at most"; 1.15),
	(if .others_arrived > 50 then
		target("\($name): tasks moved onto the target"; .off.arrived; "at most"; 3) else empty end),
	(target("\($name): longest delay, times that of chcpu -d"; .longest; "at most"; 1.25) | not_to_fail),
	(target("\($name): the same, only while CPUs go"; .longest_going_ratio; "at most"; 1.25) | not_to_fail)),
($rows[] | select(.way == "cpuoff-pace") |
	target("\(name): with a pace of 20 ms, stalls nearer to each other"; .too_soon; "at most"; 0)),
(plan("cpus"; "cpuoff"; 2048) as $ours | plan("cpus"; "lscpu"; 2048) as $theirs |
	target("a plan for 2048 CPUs, times that of lscpu -s"; ratio($ours.seconds; $theirs.seconds); "at most"; 1),
	target("a plan for 2048 CPUs, MiB"; if $ours then $ours.kib / 1024 | round_to(1) else null end; "at most"; 32)),
(plan("threads"; "cpuoff"; 50000) as $ours | plan("threads"; "walk"; 50000) as $walk |
	target("a plan beside 50 k threads, times a bare walk"; ratio($ours.seconds; $walk.seconds); "at most"; 2)),
($exponents[] | select(.way == "cpuoff") | target("growth with \(.planning), exponent"; .exponent; "at most"; 1.15))
] as $targets |

{ version: $version, mode: $mode, rows: $rows, planning: $planning, exponents: $exponents, targets: $targets,
table: [
	(if ($rows | length) > 0 then
		(["Linux", "CPUs", "load", "case", "way", "off ms", "of it the work", "x chcpu", "x floor", "arrived", "moved",
			"irqs", "longest us", "> 1 ms", "going us", "back ms", "of it the work", "x chcpu"] | line, (map("---") | line)),
		($rows[] | [.kernel, .cpus, .load, .case, .way, (.off.seconds | ms), (.off.own_seconds | ms), (.speed | cell),
			(.over_floor | cell), (.off.arrived | cell), (.off.moved | cell), (.off.interrupts | cell),
			(.off.longest_us | cell), (.off.above_1ms | cell), (.longest_going | cell),
			(.back.seconds | ms), (.back.own_seconds | ms), (.back_speed | cell)] | map(tostring) | line)
	else empty end),
	(if ($planning | length) > 0 then
		"", (["plan beside", "size", "way", "CPU ms", "wall ms", "MiB"] | line, (map("---") | line)),
		($planning[] | [.planning, .size, .way, (.seconds | ms), (.wall_seconds | ms), (.kib / 1024 | round_to(1))] |
			map(tostring) | line),
		"", ($exponents[] | "growth of \(.way) with \(.planning): exponent \(.exponent | cell)")
	else empty end)
] }
