# sqlite: a query's rows as records: numbers, categories, bytes. Made by
#   create table passengers(id integer primary key, age real, sex text, fare text, embedding blob)
. tests/programs/lib/common.sh
base64 -d <<'EOF' | gzip -dc >passengers.db
H4sIAAAAAAACA+3TT0rDQBQG8G8yJV2JCwlFiPK6UwgFLeLSxpqF0I3aC0zMSwgmaZnMIl1Vb+IVvIFH8BZew0QLcefWxfyYYb73
ZzsPd4vcMKUrXSpDUwwgBGZEAGR7HfS6PPhVC/xNYvIo9rpluUV7LMvqbcVwNB6Ll1uj4oLXqq65yljXfXLm91G4jGgZXi8i6vsn
eUJ5ZbjNtNZ5qfSGnngTkMqYNKsioJobMtyYgFKleRe5jDlJ8iqjuFjFp93flPIN8lN+tI9lWf/ZkXQx9A782c37d12qgs94Cjxf
Aa+h57jA4b6fcjdoftoIR8KF8Dz/uOteTs4vdoPZFx5ta3kACAAA
EOF
cat >p.flow <<'EOF'
option database = "passengers.db"

const all = "select id, age, sex, cast(fare as real) as fare, embedding from passengers order by id"

pipeline rows {
  return sqlite(database, all)
      |> map(id, age: missing(age, -1), sex: category(sex, ["female", "male"]), fare, e: column("embedding") |> : f32[2])
      |> print()
}

pipeline ages { return sqlite(database, all) |> map(age) |> print() }
pipeline fares { return sqlite(database, "select fare from passengers") |> map(fare) |> print() }
pipeline several { return sqlite(database, "select avg(age) from passengers; drop table passengers") |> map(age) |> print() }
pipeline dropping { return sqlite(database, "drop table passengers") |> map(age) |> print() }
pipeline counts { return sqlite(database, query = "select sex, count(*) as n, avg(age) from passengers where age > 0 group by sex") |> map(n, age: column("avg(age)")) |> filter(n > 1) |> print() }
EOF
cp passengers.db before
"$FLOWC" build p.flow -o program
cat >expected <<'EOF'
id=1 age=30 sex=1 fare=7.25 e=[1, 2]
id=2 age=-1 sex=0 fare=0 e=[1, 8]
id=3 age=41.5 sex=1 fare=1000 e=[1, 20]
EOF
./program rows >out && same expected out
for flags in --workers=2 --threads=2; do ./program rows $flags >out && same expected out; done
[ "$(./program counts)" = "n=2 age=35.75" ] || fail "counts: $(./program counts)"
expect 1 'passengers.db: row 1: `age` is NULL; `missing(age, 0)` takes 0 for it' ./program ages
expect 1 'passengers.db: row 0: `fare` is the text `7.25`, the program expects f32' ./program fares
expect 1 'passengers.db: the query is more than one statement' ./program several
expect 1 'passengers.db: the query may only be a `select`' ./program dropping
same before passengers.db
head -c 1500 before >short.db
expect 1 'short.db: it ends early: the file is truncated' ./program ages --database=short.db
expect 1 'p.flow: is no SQLite file' ./program ages --database=p.flow
[ "$(ls)" = "$(printf '%s\n' before expected out p.flow passengers.db program short.db stderr stdout)" ] || fail "files were made: $(ls)"

# A folder of C has what it needs, and a program without sqlite needs nothing of it.
"$FLOWC" build --emit=c p.flow -o c
grep -q 'libsqlite3' c/libraries.mk || fail "$(cat c/libraries.mk)"
make_emitted c trainer runtime/source/sqlite.o >/dev/null && (c/trainer counts >out; [ "$(cat out)" = "n=2 age=35.75" ]) || fail "the folder of C"
echo 'pipeline one { return range(1) |> print() }' >one.flow
"$FLOWC" build --emit=c one.flow -o d
grep -q '^OMITTED = .*runtime/source/sqlite%' d/libraries.mk && ! grep -q 'libsqlite3' d/libraries.mk || fail "$(cat d/libraries.mk)"
