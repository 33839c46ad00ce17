# --diagnostics=json: one object a line, sound JSON whatever the program holds, the same exit codes.
. tests/programs/lib/common.sh
printf 'fn f(x: f32[3]) -> f32[3] {\n  let ä = "é"\n  return x + ÿ\n}\nconst a = "\x1b\xff\xed\xa0\x80"\nconst b = "\\q"\n' >odd.flow
printf 'fn add(a: f32[3], b: i32[3]) -> f32[3] {\n  return a + b\n}\n' >mixed.flow
printf 'fn f(x: f32[3]) -> f32[3] {\n  return x |> reluu()\n}\n' >name.flow

for file in "$root"/tests/check/*.flow "$root"/tests/lang/*.flow odd.flow mixed.flow name.flow; do
    text=0 json=0
    "$FLOWC" check "$file" 2>text.err || text=$?
    "$FLOWC" check --diagnostics=json "$file" 2>json.err || json=$?
    [ $text = $json ] || fail "$file: exit $text as text, $json as JSON"
    echo "$file" >>all.json && cat json.err >>all.json
done
"$FLOWC" run --diagnostics=json "$root/nothing.flow" 2>run.err && fail "nothing.flow runs"
grep -q '"code": "E0001"' run.err || fail "$(cat run.err)"

python3 - <<'PYTHON'
import json

file, count = None, 0
def check_place(place):
    if place is None or place["file"].startswith("std/"): return
    source = open(place["file"], "rb").read()
    for end in "begin", "end":
        at = place[end]
        before = source[: at["byte"]]
        assert 0 <= at["byte"] <= len(source)
        assert at["line"] == before.count(b"\n") + 1, (file, place)
        line = before[before.rfind(b"\n") + 1 :]
        assert at["column"] == 1 + sum((byte & 0xC0) != 0x80 for byte in line), (file, place)
    assert place["begin"]["byte"] <= place["end"]["byte"]

for line in open("all.json", encoding="utf-8"): # and all of it is UTF-8
    if not line.startswith("{"):
        file = line.strip()
        continue
    found = json.loads(line)
    assert set(found) == {"code", "severity", "title", "message", "place", "notes", "help"}
    assert found["severity"] == "error" and len(found["code"]) == 5
    check_place(found["place"])
    for note in found["notes"]: check_place(note["place"])
    count += 1
    if file == "name.flow":
        assert found["code"] == "E0201" and found["place"]["begin"]["byte"] == 42, found
        assert found["place"]["begin"]["line"] == 2 and found["place"]["begin"]["column"] == 15
        assert found["help"] == "did you mean `relu`?", found
assert count > 200, count
PYTHON
