module

public import KShell.Spec
public import KShell.Scalar.Model

/-!
# Denotation of specifications

Row-major indices, bound variables, padding, sums and maxima.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Spec
open KShell

variable {R : Type} [ExactReal R] (x : Nat → Int → R)

/-! Row-major. -/
example (ρ : Nat → Int) : flatIndex ρ [2, 3, 4] [.var 0, .var 1, .var 2] 0 = (ρ 0 * 3 + ρ 1) * 4 + ρ 2 := by
  simp [flatIndex, Ix.denote]

/-- A transpose of a 4 x 8 matrix. -/
def transpose : OutputSpec := ⟨1, [(0, 8), (1, 4)], .read 0 [4, 8] [.var 1, .var 0]⟩

example : transpose.size = 32 := by rfl
example : transpose.denote x 5 = x 0 9 := by
  simp [transpose, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx]

/-- A matrix-vector product. -/
def gemv : OutputSpec :=
  ⟨2, [(0, 16)], .sum 1 8 (.bin .mul (.read 0 [16, 8] [.var 0, .var 1]) (.read 1 [8] [.var 1]))⟩

example (i : Int) : gemv.denote x i = sumTo (fun k => x 0 (i * 8 + k) * x 1 k) 8 := by
  simp [gemv, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx, RealOp.real]

/-- A row maximum. -/
def rowMax : OutputSpec := ⟨1, [(0, 16)], .maxOver 1 8 (.read 0 [16, 8] [.var 0, .var 1])⟩

example (i : Int) : rowMax.denote x i = maxTo (fun k => x 0 (i * 8 + k)) 8 := by
  simp [rowMax, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx]

/-- A shift by one with zero padding. -/
def shift : OutputSpec :=
  ⟨1, [(0, 16)], .ite (.cmp .le (.lit 1) (.var 0)) (.read 0 [16] [.bin .sub (.var 0) (.lit 1)]) (.const 0 1)⟩

example : shift.denote x 0 = 0 := by
  simp [shift, OutputSpec.denote, SExpr.denote, IxCond.denote, Ix.denote, unflatten, bindIx]
example : shift.denote x 3 = x 0 2 := by
  simp [shift, OutputSpec.denote, SExpr.denote, IxCond.denote, Ix.denote, flatIndex, unflatten, bindIx, IxOp.fn]

/-! Folds. -/
example : maxTo (fun k => (k : Rat)) 1 = 0 := by
  show maxR _ _ = _
  simp [foldTo, maxR]
example (f : Nat → R) : sumTo f 2 = 0 + f 0 + f 1 := rfl

end KShell.Tests.Spec
