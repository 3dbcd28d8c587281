"""Names that CUDA and the C headers give: built-in indices and constants."""

from semantics.core import IntType, Special
from semantics.values import Infinity, Null, Value, literal

SPECIALS = {
    "threadIdx": Special.TID,
    "blockIdx": Special.BID,
    "blockDim": Special.BDIM,
    "gridDim": Special.GDIM,
}
CONSTANTS: dict[str, Value] = {
    "warpSize": literal(32),
    "INT_MAX": literal(IntType.I32.high),
    "INT_MIN": literal(IntType.I32.low),
    "UINT_MAX": literal(IntType.U32.high, IntType.U32),
    "LLONG_MAX": literal(IntType.I64.high, IntType.I64),
    "INFINITY": Infinity(),
    "CUDART_INF_F": Infinity(),
    "HUGE_VALF": Infinity(),
    "nullptr": Null(),
    "NULL": Null(),
}
REAL_CONSTANTS = {
    "FLT_MAX": "3.4028235e38",
    "FLT_EPSILON": "1.1920929e-07",
    "M_PI": "3.14159265358979323846",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_LOG2E": "1.4426950408889634074",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_LOG10E": "0.43429448190325182765",
    "M_E": "2.7182818284590452354",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "CUDART_PI_F": "3.141592654",
    "FLT_MIN": "1.17549435e-38",
}
