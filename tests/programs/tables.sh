# Tables as they come: separators, comments, missing values, several files, arrays of columns.
. tests/programs/lib/common.sh
cat >p.flow <<'EOT'
pipeline forms {
  return csv("forms.csv", separator = ";", comment = "#", missing = ["NA", "?"])
      |> map(u: missing(u, -1), v: missing(v, -1), name: category(name, ["", "x", "y;z"]), id) |> print()
}

pipeline wrong {
  return csv("forms.csv", separator = ";", comment = "#") |> map(t) |> print()
}

pipeline parts {
  return csv("part-*.csv.gz") |> map(all: columns(4), pair: missing(columns("u", 2), 9) / 2, sum: sum(columns("v", 2))) |> print()
}

pipeline places {
  return csv("plain.tsv", header = false, separator = "\t") |> map(x: columns(1, 2)) |> print()
}

pipeline houses {
  return csv("housing.csv.gz") |> map(x: columns(8, except = ["total_bedrooms"])) |> take(1) |> print()
}

pipeline wide {
  return csv("wide.csv") |> map(last: column("c99999"), all: columns("c0", 100000)) |> map(last, most: max(all)) |> print()
}

pipeline hostile(file: path) {
  return csv(file) |> map(x) |> print()
}

pipeline quote { return hostile("quote.csv") }

pipeline zero { return hostile("zero.csv") }

pipeline cut { return csv("cut.csv.gz") |> map(longitude) |> print() }

pipeline few { return csv("housing.csv.gz") |> map(x: columns(2)) |> print() }
EOT
run() { "$FLOWC" run p.flow "$@"; }
ln -s "$root/examples/data/housing.csv.gz" .

printf '%s\n' '# a "comment' 'id;t;u;v;name' '1;1,5;2;NA;x' '2;3;"4";5;"y;z"' '' '# more' '3;6;?;8;NA' >forms.csv
printf '%s\n' 'u=2 v=-1 name=1 id=1' 'u=4 v=5 name=2 id=2' 'u=-1 v=8 name=0 id=3' >expected
run forms >out && same expected out
expect 1 'forms.csv: line 3: `t` is `1,5`, the program expects f32' "$FLOWC" run p.flow wrong

# The second file has its columns in another order, the third others.
printf '%s\n' 'id,u,v,w' '1,2,3,4' | gzip >part-1.csv.gz
printf '%s\n' 'id,u,v,w' '5,6,7,8' | gzip >part-2.csv.gz
printf '%s\n' 'all=[1, 2, 3, 4] pair=[1, 1.5] sum=7' 'all=[5, 6, 7, 8] pair=[3, 3.5] sum=15' >expected
run parts >out && same expected out
printf '%s\n' 'u,v,w,id' '6,7,8,5' | gzip >part-3.csv.gz
expect 1 'part-3.csv.gz: has other columns than part-1.csv.gz' "$FLOWC" run p.flow parts
sed -i 's/all: columns(4), //' p.flow
run parts | tail -n 1 >out && echo 'pair=[3, 3.5] sum=15' >expected && same expected out

printf 'a\t1\t2\nb\t3\t4' >plain.tsv
printf '%s\n' 'x=[1, 2]' 'x=[3, 4]' >expected
run places >out && same expected out

[ "$(run houses)" = 'x=[-122.23, 37.88, 41, 880, 322, 126, 8.3252, 452600]' ] || fail "$(run houses)"
expect 1 '9 columns hold numbers, the program expects 2: longitude, latitude, …' "$FLOWC" run p.flow few

# What nobody should write.
{ seq -s , 0 99999 | sed 's/[0-9]*/c&/g'; seq -s , 0 99999; seq -s , 1 100000; } >wide.csv
printf '%s\n' 'last=99999 most=99999' 'last=100000 most=100000' >expected
run wide >out && same expected out
{ printf 'x,y\n1,2\n3,"'; seq -f '4,%g' 100000; } >quote.csv
expect 1 'quote.csv: line 3: its last cell has a quote that is not closed' "$FLOWC" run p.flow quote
printf 'x,y\n1,2\n3\0,5\n' >zero.csv
expect 1 'zero.csv: line 3: `x` is `3?`, the program expects f32' "$FLOWC" run p.flow zero
head -c 300000 housing.csv.gz >cut.csv.gz
expect 1 'cut.csv.gz: the compressed data ends early' "$FLOWC" run p.flow cut
