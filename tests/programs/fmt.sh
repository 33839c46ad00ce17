# flowc fmt in the hand: what it writes, what it leaves alone, what it says.
. tests/programs/lib/common.sh
printf 'const a=1\n' >bad.flow
printf 'const a = 1\n' >good.flow
printf 'const a = = 1\n' >broken.flow
cp broken.flow broken.before

"$FLOWC" fmt --check good.flow bad.flow >stdout && fail "--check finds nothing"
[ "$(cat stdout)" = bad.flow ] || fail "--check names $(cat stdout)"
[ "$(cat bad.flow)" = "const a=1" ] || fail "--check wrote"
"$FLOWC" fmt --check good.flow

# Permissions and links stay; a file that is as it should be is not written.
chmod 640 bad.flow
ln -s bad.flow link.flow
touch -d 2020-01-01 good.flow
"$FLOWC" fmt link.flow good.flow
same good.flow bad.flow
[ -L link.flow ] && [ "$(stat -c %a bad.flow)" = 640 ] || fail "the link or its mode changed"
[ "$(stat -c %Y good.flow)" = "$(date -d 2020-01-01 +%s)" ] || fail "good.flow was written"

# A broken file is told and left, and does not keep the others from being formatted.
printf 'const a=1\n' >bad.flow
expect 1 "error[E0101]" "$FLOWC" fmt broken.flow bad.flow
same broken.flow broken.before
same good.flow bad.flow
expect 1 '{"code": "E0101"' "$FLOWC" fmt --diagnostics=json broken.flow
expect 1 "missing.flow" "$FLOWC" fmt missing.flow
expect 2 "no flag" "$FLOWC" fmt good.flow --checks
expect 2 "which .flow file" "$FLOWC" fmt
expect 2 "text or json" "$FLOWC" fmt --diagnostics=xml good.flow
[ "$(ls | grep -c tmp)" = 0 ] || fail "something was left behind"

[ "$("$FLOWC" fmt - <<<'dim   A=1')" = "dim A = 1" ] || fail "standard input is not filtered"
[ -z "$("$FLOWC" fmt - </dev/null)" ] || fail "of nothing comes something"
