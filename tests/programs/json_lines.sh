# JSON lines as a user meets them: trained on, printed, plain and gzip, and what is said of what is wrong.
. tests/programs/lib/common.sh
cat >people.jsonl <<'END'
{"name": "Ann", "age": 31, "sex": "female", "home": {"rooms": 3, "at": [1.5, -2]}, "scores": [0.5, 1, 2e0], "paid": true}
{"name": "Bob", "age": null, "sex": "male", "home": {"rooms": 4, "at": [0, 1]}, "scores": [1, 1, 1], "paid": false}

{"scores": [0, 0, 9], "paid": true, "sex": null, "home": {"at": [3, 3]}, "age": 40.5, "name": "Eve \u00e9\n"}
END
gzip -k people.jsonl
printf '{"x": 1}\n{"x": 2,\n{"x": 3}\n' >broken.jsonl
cat >p.flow <<'END'
pipeline people(file: path) {
  return jsonl(file)
      |> map(age: missing(age, -1), rooms: missing(column("home.rooms"), 1) |> : i32, at: column("home.at") |> : f32[2],
        scores: scores |> : f32[3], sex: category(missing(sex, 2), ["female", "male", "unknown"]), paid: paid |> : bool)
}

pipeline plain { return people("people.jsonl") |> print() }
pipeline packed { return people("people.jsonl.gz") |> print() }
pipeline old { return jsonl("people.jsonl") |> map(age: missing(age, 0)) |> filter(age > 35) |> print() }
pipeline texts { return jsonl("people.jsonl") |> map(sex) |> print() }
pipeline lists { return jsonl("people.jsonl") |> map(scores) |> print() }
pipeline pairs { return jsonl("people.jsonl") |> map(scores: scores |> : f32[2]) |> print() }
pipeline ages { return jsonl("people.jsonl") |> map(age) |> print() }
pipeline misspelt { return jsonl("people.jsonl") |> map(agee) |> print() }
pipeline known { return jsonl("people.jsonl") |> map(sex: category(sex, ["male"])) |> print() }
pipeline broken { return jsonl("broken.jsonl") |> map(x) |> print() }
pipeline few { return jsonl("people.jsonl") |> map(rooms: missing(column("home.rooms"), 4) |> : i32 in 0..4) |> print() }

model net(x: f32[B, 3]) -> f32[B, 2] { return dense(x, 2) }

train fit {
  data      = jsonl("people.jsonl") |> map(x: scores |> : f32[3], y: paid |> : i32 in 0..2) |> shuffle(seed = 1) |> batch(2)
  loss      = cross_entropy(net(data.x), data.y)
  optimizer = sgd(0.1)
}
END
"$FLOWC" run p.flow plain >plain.out
[ "$(cat plain.out)" = "age=31 rooms=3 at=[1.5, -2] scores=[0.5, 1, 2] sex=0 paid=true
age=-1 rooms=4 at=[0, 1] scores=[1, 1, 1] sex=1 paid=false
age=40.5 rooms=1 at=[3, 3] scores=[0, 0, 9] sex=2 paid=true" ] || fail "$(cat plain.out)"
"$FLOWC" run p.flow packed >packed.out
same plain.out packed.out
[ "$("$FLOWC" run p.flow old)" = "age=40.5" ] || fail "filter: $("$FLOWC" run p.flow old)"
expect 1 'people.jsonl: line 1, column 35: `sex` is a text, the program expects f32' "$FLOWC" run p.flow texts
expect 1 '`scores` is an array, the program expects f32; `scores |> : f32[3]` takes one of 3' "$FLOWC" run p.flow lists
expect 1 '`scores` is an array of more than 2, the program expects f32[2]' "$FLOWC" run p.flow pairs
expect 1 'people.jsonl: line 2, column 24: `age` is missing; `missing(age, 0)` takes 0 for it' "$FLOWC" run p.flow ages
expect 1 'people.jsonl: line 1, column 1: there is no `agee`; did you mean `age`?' "$FLOWC" run p.flow misspelt
expect 1 'people.jsonl: line 1, column 35: `sex` is `female`, none of its 1 categories' "$FLOWC" run p.flow known
expect 1 'people.jsonl: line 2: `home.rooms` must lie in 0..4, but is 4 (p.flow:' "$FLOWC" run p.flow few
expect 1 'broken.jsonl: line 2, column 9: a string is expected' "$FLOWC" run p.flow broken
"$FLOWC" run p.flow fit 2>fit.out || fail "$(cat fit.out)"
