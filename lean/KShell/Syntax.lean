module

/-!
# Syntax

The typed deep AST that the final theorem speaks about. It mirrors `semantics/core.py` constructor by
constructor. Scalar expressions are memory-free: every access is a statement of its own, which makes
accesses atomic. Variables, parameters and arrays are numbers; their names live in the certificate.
-/

@[expose] public section
namespace KShell

/-- C integer types of the subset. -/
inductive IntTy where
  | i32 | u32 | i64 | u64
deriving DecidableEq

/-- Built-in index variables: `threadIdx`, `blockIdx`, `blockDim`, `gridDim`. -/
inductive Special where
  | tid | bid | bdim | gdim
deriving DecidableEq

/-- Component of a built-in index variable. -/
inductive Dim where
  | x | y | z
deriving DecidableEq

/-- Integer operations. `div` and `mod` truncate toward zero; shifts and bit operations are defined on
non-negative operands only. -/
inductive IntOp where
  | add | sub | mul | div | mod | min | max | shl | shr | land | lor | lxor
deriving DecidableEq

/-- Comparisons. -/
inductive CmpOp where
  | lt | le | eq
deriving DecidableEq

/-- Binary operations on scalars. -/
inductive RealOp where
  | add | sub | mul | div | max | min
deriving DecidableEq

/-- Unary functions on scalars. -/
inductive RealFn where
  | neg | abs | exp | log | sqrt | rsqrt | tanh | erf | sin | cos
deriving DecidableEq

mutual
/-- Integer expressions. -/
inductive IExpr where
  /-- Literal of a type. -/
  | lit (n : Int) (t : IntTy)
  /-- Integer register. -/
  | var (v : Nat)
  /-- Integer kernel parameter, by its index among the scalar parameters. -/
  | param (p : Nat)
  /-- Built-in index variable. -/
  | special (s : Special) (d : Dim)
  /-- Binary operation carried out in a type. -/
  | bin (op : IntOp) (t : IntTy) (a b : IExpr)
  /-- Conversion; a value outside the range is a fault. -/
  | cast (t : IntTy) (a : IExpr)
  /-- `c ? a : b`; only the chosen side is evaluated. -/
  | select (c : BExpr) (a b : IExpr)

/-- Conditions. -/
inductive BExpr where
  /-- `true` or `false`. -/
  | lit (b : Bool)
  /-- Comparison of integers. -/
  | icmp (op : CmpOp) (a b : IExpr)
  /-- Comparison of scalars; -infinity is below every scalar. -/
  | rcmp (op : CmpOp) (a b : RExpr)
  /-- Short-circuit `&&`. -/
  | and (a b : BExpr)
  /-- Short-circuit `||`. -/
  | or (a b : BExpr)
  /-- `!`. -/
  | not (a : BExpr)

/-- Scalar expressions. -/
inductive RExpr where
  /-- The rational `num / den`. -/
  | lit (num : Int) (den : Nat)
  /-- `-INFINITY`. -/
  | ninf
  /-- Scalar register. -/
  | var (v : Nat)
  /-- Scalar kernel parameter, by its index among the scalar parameters. -/
  | param (p : Nat)
  /-- Binary operation. -/
  | bin (op : RealOp) (a b : RExpr)
  /-- Unary function. -/
  | fn (f : RealFn) (a : RExpr)
  /-- Exact conversion of an integer. -/
  | ofInt (a : IExpr)
  /-- `c ? a : b`; only the chosen side is evaluated. -/
  | select (c : BExpr) (a b : RExpr)
end

/-- Warp shuffles. -/
inductive ShflKind where
  | idx | up | down | xor
deriving DecidableEq

/-- Statements of one thread. `while` is the only loop. -/
inductive Stmt where
  /-- Nothing. -/
  | skip
  /-- One after the other. -/
  | seq (a b : Stmt)
  /-- Assign an integer register. -/
  | seti (v : Nat) (e : IExpr)
  /-- Assign a scalar register. -/
  | setr (v : Nat) (e : RExpr)
  /-- Atomic read of a cell of a global or shared array into a scalar register. -/
  | load (v arr : Nat) (i : IExpr)
  /-- Atomic write of a cell of a global or shared array. -/
  | store (arr : Nat) (i : IExpr) (e : RExpr)
  /-- Read of a cell of a local array. -/
  | lload (v arr : Nat) (i : IExpr)
  /-- Write of a cell of a local array. -/
  | lstore (arr : Nat) (i : IExpr) (e : RExpr)
  /-- Conditional. -/
  | ite (c : BExpr) (a b : Stmt)
  /-- Loop. -/
  | while (c : BExpr) (body : Stmt)
  /-- `__syncthreads()`. -/
  | barrier
  /-- `__syncwarp()` with the full mask. -/
  | syncwarp
  /-- `dst := __shfl_*_sync(0xffffffff, src, arg, width)`; orders no memory. -/
  | shfl (kind : ShflKind) (dst src : Nat) (arg : IExpr) (width : Nat)
  /-- Fault unless the condition holds. -/
  | check (c : BExpr)

/-- Where an array lives. -/
inductive Space where
  /-- A buffer of the whole launch sequence. -/
  | global
  /-- One array for each block, uninitialised when the block starts. -/
  | shared
  /-- One array for each thread, part of its registers. -/
  | local
deriving DecidableEq

/-- An array: where it lives and how many elements it has. -/
structure ArrayDecl where
  /-- Where it lives. -/
  space : Space
  /-- Number of elements. -/
  size : Nat
deriving DecidableEq

/-- Sizes of a grid (in blocks) or of a block (in threads). -/
structure Dim3 where
  x : Nat
  y : Nat
  z : Nat
deriving DecidableEq

/-- Number of blocks or threads. -/
def Dim3.count (d : Dim3) : Nat := d.x * d.y * d.z

/-- Extent in one dimension. -/
def Dim3.get (d : Dim3) : Dim → Nat
  | .x => d.x
  | .y => d.y
  | .z => d.z

/-- Value of a scalar kernel parameter. -/
inductive Arg where
  /-- An integer. -/
  | int (n : Int)
  /-- The rational `num / den`. -/
  | rat (num : Int) (den : Nat)
deriving DecidableEq

/-- A kernel specialised to its arrays. Entry `a` of `arrays` is array number `a`. Global arrays carry
the number of the buffer they are bound to in the launch sequence, so two launches that use one buffer
use one number; a number that a kernel does not use is declared with size 0. -/
structure Kernel where
  /-- The arrays, by number. -/
  arrays : List ArrayDecl
  /-- The code of one thread. -/
  body : Stmt

/-- One launch of one kernel. -/
structure Launch where
  /-- The kernel. -/
  kernel : Kernel
  /-- Number of blocks. -/
  grid : Dim3
  /-- Number of threads of a block. -/
  block : Dim3
  /-- Values of the scalar parameters. -/
  args : List Arg := []

end KShell
