/* C words. */
#include "lang/base/c_words.h"

#include <stddef.h>
#include <string.h>

bool is_c_word(const char *name) {
    static const char *const keywords[] = {
        "alignas",      "alignof",       "and",         "and_eq",   "asm",       "auto",
        "bitand",       "bitor",         "bool",        "break",    "case",      "catch",
        "char",         "class",         "compl",       "concept",  "const",     "const_cast",
        "consteval",    "constexpr",     "constinit",   "continue", "co_await",  "co_return",
        "co_yield",     "decltype",      "default",     "delete",   "do",        "double",
        "dynamic_cast", "else",          "enum",        "explicit", "export",    "extern",
        "false",        "float",         "for",         "friend",   "goto",      "if",
        "inline",       "int",           "long",        "mutable",  "namespace", "new",
        "noexcept",     "not",           "not_eq",      "nullptr",  "operator",  "or",
        "or_eq",        "private",       "protected",   "public",   "register",  "reinterpret_cast",
        "requires",     "restrict",      "return",      "short",    "signed",    "sizeof",
        "static",       "static_assert", "static_cast", "struct",   "switch",    "template",
        "this",         "thread_local",  "throw",       "true",     "try",       "typedef",
        "typeid",       "typename",      "typeof",      "union",    "unsigned",  "using",
        "virtual",      "void",          "volatile",    "wchar_t",  "while",     "xor",
        "xor_eq",       "linux",         "unix",        "main",     "errno",     "assert",
        "stdin",        "stdout",        "stderr",      "char8_t",  "char16_t",  "char32_t",
        "size_t",       "ptrdiff_t",     "max_align_t", "intptr_t", "uintptr_t", "int8_t",
        "int16_t",      "int32_t",       "int64_t",     "uint8_t",  "uint16_t",  "uint32_t",
        "uint64_t",     "intmax_t",      "uintmax_t",   "noreturn", "complex",   "imaginary",
    };
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(name, keywords[i])) return true;
    return false;
}
