"""When two sources count as the same program."""

from agents.fingerprint import fingerprint

BASE = (
    "#define N 4\n__global__ void f(float* y) { y[0] = 1.0f + N; }\n"
    "void launch(float* y) { f<<<1, 1>>>(y); }\n"
)


def test_comments_layout_braces_and_parentheses_do_not_matter() -> None:
    other = (
        BASE.replace("#define", "// note\n#define ")
        .replace("{ y[0] =", "\n{\n /* x */ y[0]=")
        .replace("1.0f + N", "(1.0f)+(N)")
    )
    assert fingerprint(other) == fingerprint(BASE)


def test_names_numbers_and_operators_matter() -> None:
    for old, new in (("1.0f", "2.0f"), ("y[0]", "y[1]"), ("N 4", "N 5"), ("1.0f +", "1.0f -")):
        assert fingerprint(BASE.replace(old, new, 1)) != fingerprint(BASE)


def test_a_source_outside_the_language_counts_by_its_text() -> None:
    assert fingerprint("int main() { } // a") == fingerprint("int  main(){}")
    assert fingerprint("int main() { }") != fingerprint("int other() { }")
