# SPDX-License-Identifier: GPL-2.0-or-later
# schema.jq - true where each document of the input satisfies $schema[0], by the keywords known here

def resolve($root):
	if type == "object" and has("$ref") then
		. as $node | $root | getpath($node["$ref"] | ltrimstr("#/") | split("/")) | resolve($root)
	else
		.
	end;

def is_type($name):
	if $name == "integer" then type == "number" and . == floor
	else type == $name
	end;

def check($schema; $root):
	. as $value | ($schema | resolve($root)) as $s |
	if ($s | type) == "boolean" then $s
	else
		(if $s | has("type") then
			[$s.type] | flatten | any(. as $name | $value | is_type($name))
		else true end)
		and (if $s | has("enum") then $s.enum | any(. == $value) else true end)
		and (if $s | has("const") then $s.const == $value else true end)
		and (if ($s | has("pattern")) and ($value | type) == "string" then
			$value | test($s.pattern)
		else true end)
		and (if ($s | has("minimum")) and ($value | type) == "number" then $value >= $s.minimum
		else true end)
		and (if ($value | type) == "object" then
			($s.required // [] | all(. as $key | $value | has($key)))
			and ($value | to_entries | all(. as $entry |
				if $s.properties // {} | has($entry.key) then
					$entry.value | check($s.properties[$entry.key]; $root)
				elif $s | has("additionalProperties") then
					$entry.value | check($s.additionalProperties; $root)
				else true end))
		else true end)
		and (if ($value | type) == "array" and ($s | has("items")) then
			all($value[]; check($s.items; $root))
		else true end)
		and ($s.allOf // [] | all(. as $part | $value | check($part; $root)))
		and (if $s | has("anyOf") then $s.anyOf | any(. as $part | $value | check($part; $root))
		else true end)
		and (if $s | has("oneOf") then
			[$s.oneOf[] | . as $part | $value | check($part; $root) | select(.)] | length == 1
		else true end)
		and (if $s | has("if") then
			if $value | check($s.if; $root) then $value | check($s.then // true; $root)
			else $value | check($s.else // true; $root) end
		else true end)
		and (if $s | has("not") then $value | check($s.not; $root) | not else true end)
	end;

$schema[0] as $root | all(.[]; check($root; $root))
