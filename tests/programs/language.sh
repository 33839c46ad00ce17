# What the language computes: each export of language/*.flow gives a number that has to be 0.
. tests/programs/lib/common.sh
printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
for file in "$root"/tests/programs/language/*.flow; do
    name=$(basename "$file" .flow)
    "$FLOWC" export "$file" -o "$name"
    weights=none.safetensors
    {
        echo "#include \"$name.h\""
        echo "#include <stdio.h>"
        echo "int main(void) {"
        echo "char message[512]; int wrong = 0; float y = 0;"
        echo "${name^} *instance = ${name}_create(\"$weights\", message, sizeof message);"
        echo "if (!instance) return puts(message), 1;"
        for export in $(sed -n 's/^export \([a-z_0-9]*\).*/\1/p' "$file"); do
            echo "${name}_$export(instance, &y);"
            echo "if (!(y > -1e-5f && y < 1e-5f)) wrong = 1, printf(\"$name: $export is %g\\n\", y);"
        done
        echo "${name}_destroy(instance); return wrong; }"
    } >"$name.c"
    "${CC:-gcc}" ${SAN:+-fsanitize=$SAN} -O1 -I"$name" -o "$name.run" "$name.c" "$name/lib$name.a" -lz -lm -lpthread
    "./$name.run" || fail "$name"
done
