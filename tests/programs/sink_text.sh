# What text sinks write, and that csv reads it back as the same values.
. tests/programs/lib/common.sh

# There and back: what csv wrote reads as the same values, which are written as the same text.
cat >types.flow <<'END'
fn sized(x: f32) -> f32 { return x * exp(x * 20 - 10) }
fn signed(x: f32) -> f32 { return sized(x) * select(x < 0.5, -1, 1) }

pipeline made {
  return range(400) |> map(x: sum(random_normal([1])), u: sum(random_uniform([1])), i: index)
      |> map(truth: x < 0, small: cast(u * 255, u8), signs: cast(u * 255 - 128, i8), whole: cast(x * 1e8, i32), long: i * i * i * 1234567890123 - 7,
             half: cast(signed(u), f16), brain: cast(signed(u), bf16), single: signed(x), double: cast(signed(x), f64) / 3)
      |> csv("made.csv")
}

pipeline again {
  return csv("made.csv")
      |> map(truth: truth |> : bool, small: small |> : u8, signs: signs |> : i8, whole: whole |> : i32, long: long |> : i64,
             half: half |> : f16, brain: brain |> : bf16, single: single |> : f32, double: double |> : f64)
      |> csv("again.csv")
}

pipeline tensors { return range(50) |> map(i: index, x: random_normal([2, 3])) |> csv("tensors.csv") }

pipeline tensors_again {
  return csv("tensors.csv")
      |> map(i: i |> : i64, x: [[column("x[0][0]"), column("x[0][1]"), column("x[0][2]")], [column("x[1][0]"), column("x[1][1]"), column("x[1][2]")]])
      |> csv("tensors2.csv")
}
END
"$FLOWC" build types.flow -o types
./types made && ./types again && same made.csv again.csv
./types tensors && ./types tensors_again && same tensors.csv tensors2.csv

# Text: cells in quotes where they need them, strings with escapes, lines and characters.
printf 'plain---a,b-----say "x"-\303\244\303\266\n\t\\\001x       ' | tr '-' '\0' >given.txt
cat >texts.flow <<'END'
pipeline table { return text("given.txt") |> window(8, 8) |> map(name: byte, n: sum(cast(byte, i32))) |> csv("texts.csv", text = [name]) }
pipeline back {
  return csv("texts.csv") |> map(which: category(name, ["x       ", "say \"x\"", "a,b", "plain", "äö\n\t\\\x01"]), n: n |> : i32) |> csv(stdout)
}
pipeline objects { return text("given.txt") |> window(8, 8) |> map(name: byte, x: [[1, 2], [0, 1 / cast(byte[0] - byte[0], f32)]]) |> jsonl(stdout, text = name) }
pipeline lines { return text("given.txt") |> window(8, 8) |> text("lines.txt") }
pipeline bytes { return text("given.txt") |> text(stdout) }
pipeline broken { return text("given.txt") |> window(1) |> skip(25) |> jsonl(stdout, text = byte) }
END
sed -i 's/\\x01/'$'\001''/' texts.flow
"$FLOWC" build texts.flow -o texts
./texts table && ./texts back >out
printf '%s\n' which,n 3,532 2,239 1,553 4,848 0,344 | same - out
cat >expected <<'END'
{"name":"plain","x":[[1,2],[0,null]]}
{"name":"a,b","x":[[1,2],[0,null]]}
{"name":"say \"x\"","x":[[1,2],[0,null]]}
{"name":"äö\n\u0009\\\u0001","x":[[1,2],[0,null]]}
{"name":"x       ","x":[[1,2],[0,null]]}
END
./texts objects >out && same expected out
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <out || fail "that is no JSON"
./texts lines && { tr '\0' '\n' <given.txt | sed 's/\x01/&\n/' | tr -s '\n' && echo; } >expected && same expected lines.txt
./texts bytes >out && same given.txt out
expect 1 'record 0: `byte` is no UTF-8 from byte 0 on, so it is no text in JSON' ./texts broken
