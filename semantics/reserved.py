"""Names a candidate may not define: they mean something to CUDA, and overload resolution or the
preprocessor could then choose another meaning than the one that was checked."""

import re

from semantics.lexer import KEYWORDS, REFUSED_WORDS, TYPE_WORDS

_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 "
    "cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma "
    "fmax fmin fmod frexp hypot ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma llrint llround log "
    "log10 log1p log2 logb lrint lround max min modf nan nearbyint nextafter norm norm3d norm4d "
    "normcdf normcdfinv pow powi rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt "
    "scalbln scalbn signbit sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn abs "
    "labs llabs umin umax ullmin ullmax llmin llmax div saturate"
)
_OTHER = (
    "printf assert malloc free memcpy memset memcmp memmove clock clock64 threadIdx blockIdx blockDim "
    "gridDim warpSize atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec "
    "atomicCAS atomicAnd atomicOr atomicXor main std nanf tex1D tex2D exit abort"
)
FUNCTIONS = frozenset(
    [*_MATH.split(), *(f"{m}f" for m in _MATH.split()), *(f"{m}l" for m in _MATH.split()), *_OTHER.split()]
)
_PREFIXES = ("__", "KSHELL")
_CUDA = re.compile(r"cuda[A-Z]|make_[a-z]+[1-4]$|(?:tex|surf)(?:[123]D|Cubemap)")
_WORDS = TYPE_WORDS | frozenset(KEYWORDS) | frozenset(REFUSED_WORDS)
_MACROS_ALLOWED = frozenset({"max", "min"})


def reserved_function(name: str) -> bool:
    """Whether a function of this name would clash with one of CUDA."""
    return name in FUNCTIONS or name.startswith(_PREFIXES) or _CUDA.match(name) is not None


def reserved_macro(name: str) -> bool:
    """Whether a macro of this name would change the meaning of the language or of host code."""
    if name in _MACROS_ALLOWED:
        return False
    return name in _WORDS or reserved_function(name) or name == "defined"
