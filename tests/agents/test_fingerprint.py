"""When two sources count as the same program."""

from agents.fingerprint import fingerprint

BASE = "#define N 4\n__global__ void f(float* y) { y[0] = 1.0f; }\n"


def test_comments_and_white_space_do_not_matter() -> None:
    other = "#define  N 4\n// note\n__global__ void f( float *y )\n{\n  y[0]=1.0f; /* x */ }"
    assert fingerprint(other) == fingerprint(BASE)


def test_names_numbers_and_operators_matter() -> None:
    for old, new in (("1.0f", "2.0f"), ("y[0]", "y[1]"), ("N 4", "N 5"), ("int", "in t")):
        if old in BASE:
            assert fingerprint(BASE.replace(old, new)) != fingerprint(BASE)
