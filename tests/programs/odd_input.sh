# Files that nobody means to give: each command says what is wrong, at once, or takes them as they are.
. tests/programs/lib/common.sh
text='fn f(x: f32[3]) -> f32[3] { return x + 1 }'
: >empty.flow
printf '# only\n# comments' >comments.flow
printf '%s' "$text" >unended.flow
printf 'const a = 1\r\n%s\r\n' "$text" >crlf.flow
printf '\xef\xbb\xbf%s\n' "$text" >mark.flow
{ printf '# '; head -c 1000000 /dev/zero | tr '\0' x; echo; echo "$text"; } >wide.flow
{ printf 'const a = 0'; head -c 250000 /dev/zero | sed "s/\\x00/ + 1/g"; echo; } >long.flow
printf 'const a \0= 1\n' >zero.flow
printf '\xff\xfe\n' >bytes.flow
mkdir folder.flow
mkfifo pipe.flow

for file in empty comments unended crlf mark wide; do
    "$FLOWC" check $file.flow >stdout 2>stderr || fail "check $file: $(cat stderr)"
    [ -z "$(cat stdout stderr)" ] || fail "check $file says $(cat stdout stderr)"
    expect 1 'has no train block' "$FLOWC" summary $file.flow
    "$FLOWC" fmt $file.flow || fail "fmt $file"
    "$FLOWC" fmt --check $file.flow || fail "fmt $file: twice is another"
    "$FLOWC" check $file.flow || fail "check $file, formatted"
done
same unended.flow mark.flow
[ ! -s empty.flow ] && ! grep -q $'\r' crlf.flow || fail "fmt leaves line ends of others"

for command in check fmt summary graph run build export; do
    expect 1 'error[E0105]: nested too deeply' "$FLOWC" $command long.flow
    [ "$(wc -c <stderr)" -lt 2000 ] || fail "$command: the line is shown whole"
    expect 1 'error[E0102]: unknown character' "$FLOWC" $command zero.flow
    expect 1 'byte 0xFF is not valid UTF-8' "$FLOWC" $command bytes.flow
    expect 1 'folder.flow: it is a directory' "$FLOWC" $command folder.flow
    expect 1 'pipe.flow: it is not a regular file' "$FLOWC" $command pipe.flow
    expect 1 ': No such file or directory' "$FLOWC" $command ''
done
expect 2 'nothing is done with `empty.flow`' "$FLOWC" reference empty.flow
expect 1 'Is a directory' "$FLOWC" fmt - <folder.flow
for file in folder pipe zero; do
    echo "import \"$file.flow\"" >imports.flow
    expect 1 "$file.flow" "$FLOWC" check imports.flow
done
