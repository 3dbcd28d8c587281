module

public import KShell.Eval

/-!
# Values and definedness of expressions

What proofs use instead of `eval`: a total value and a proposition that says when it is defined, with
one simp lemma a constructor. `*.eval_eq` ties both to the trusted evaluation.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- The value is in the range of the type. -/
def IntTy.inRange (t : IntTy) (n : Int) : Prop := t.low ≤ n ∧ n ≤ t.high

/-- Comparison of integers as a proposition. -/
def CmpOp.intProp : CmpOp → Int → Int → Prop
  | .lt, a, b => a < b
  | .le, a, b => a ≤ b
  | .eq, a, b => a = b

mutual
/-- Value of an integer expression where it is defined. -/
def IExpr.val (E : Env R) (r : Reg R) : IExpr → Int
  | .lit n _ => n
  | .var v => r.iv v
  | .param p => E.iparam p
  | .special s d => E.special s d
  | .bin op _ a b => op.fn (a.val E r) (b.val E r)
  | .cast _ a => a.val E r
  | .select c a b => if c.val E r then a.val E r else b.val E r

/-- Value of a condition where it is defined. -/
def BExpr.val (E : Env R) (r : Reg R) : BExpr → Prop
  | .lit b => b = true
  | .icmp op a b => op.intProp (a.val E r) (b.val E r)
  | .rcmp op a b => op.ext (a.val E r) (b.val E r)
  | .and a b => a.val E r ∧ b.val E r
  | .or a b => a.val E r ∨ b.val E r
  | .not a => ¬ a.val E r

/-- Value of a scalar expression where it is defined. -/
def RExpr.val (E : Env R) (r : Reg R) : RExpr → Ext R
  | .lit num den => .fin (KShell.ofRat num den)
  | .ninf => .ninf
  | .var v => r.rv v
  | .param p => .fin (E.rparam p)
  | .bin op a b => op.fn (a.val E r) (b.val E r)
  | .fn f a => f.fn (a.val E r)
  | .ofInt a => .fin (KShell.ofInt (a.val E r))
  | .select c a b => if c.val E r then a.val E r else b.val E r
end

mutual
/-- The integer expression is defined. -/
def IExpr.ok (E : Env R) (r : Reg R) : IExpr → Prop
  | .lit n t => t.inRange n
  | .var _ | .param _ | .special _ _ => True
  | .bin op t a b => a.ok E r ∧ b.ok E r ∧ op.defined t (a.val E r) (b.val E r) ∧
      t.inRange (op.fn (a.val E r) (b.val E r))
  | .cast t a => a.ok E r ∧ t.inRange (a.val E r)
  | .select c a b => c.ok E r ∧ (c.val E r → a.ok E r) ∧ (¬ c.val E r → b.ok E r)

/-- The condition is defined. -/
def BExpr.ok (E : Env R) (r : Reg R) : BExpr → Prop
  | .lit _ => True
  | .icmp _ a b => a.ok E r ∧ b.ok E r
  | .rcmp _ a b => a.ok E r ∧ b.ok E r
  | .and a b => a.ok E r ∧ (a.val E r → b.ok E r)
  | .or a b => a.ok E r ∧ (¬ a.val E r → b.ok E r)
  | .not a => a.ok E r

/-- The scalar expression is defined. -/
def RExpr.ok (E : Env R) (r : Reg R) : RExpr → Prop
  | .lit _ den => ¬ den = 0
  | .ninf | .var _ | .param _ => True
  | .bin op a b => a.ok E r ∧ b.ok E r ∧ op.defined (a.val E r) (b.val E r)
  | .fn f a => a.ok E r ∧ f.defined (a.val E r)
  | .ofInt a => a.ok E r
  | .select c a b => c.ok E r ∧ (c.val E r → a.ok E r) ∧ (¬ c.val E r → b.ok E r)
end

theorem IntTy.clip_eq {t : IntTy} {n : Int} (h : t.inRange n) : t.clip n = some n := if_pos h

theorem CmpOp.int_eq (op : CmpOp) (a b : Int) : op.int a b = decide (op.intProp a b) := by
  cases op <;> simp only [CmpOp.int, CmpOp.intProp] <;> rw [Bool.eq_iff_iff] <;> simp

mutual
/-- A defined integer expression evaluates to its value. -/
theorem IExpr.eval_eq (E : Env R) (r : Reg R) : (e : IExpr) → e.ok E r → e.eval E r = some (e.val E r)
  | .lit n t, h => by simp only [IExpr.eval, IExpr.val]; exact IntTy.clip_eq h
  | .var v, _ => by simp only [IExpr.eval, IExpr.val]
  | .param p, _ => by simp only [IExpr.eval, IExpr.val]
  | .special s d, _ => by simp only [IExpr.eval, IExpr.val]
  | .bin op t a b, h => by
    simp only [IExpr.ok] at h
    simp only [IExpr.eval, IExpr.val, IExpr.eval_eq E r a h.1, IExpr.eval_eq E r b h.2.1, IntOp.eval,
      if_pos h.2.2.1, IntTy.clip_eq h.2.2.2]
  | .cast t a, h => by
    simp only [IExpr.ok] at h
    simp only [IExpr.eval, IExpr.val, IExpr.eval_eq E r a h.1, IntTy.clip_eq h.2]
  | .select c a b, h => by
    simp only [IExpr.ok] at h
    simp only [IExpr.eval, IExpr.val, BExpr.eval_eq E r c h.1]
    by_cases hc : c.val E r
    · simp only [hc, decide_true, if_true]; exact IExpr.eval_eq E r a (h.2.1 hc)
    · simp only [hc, decide_false, if_false]; exact IExpr.eval_eq E r b (h.2.2 hc)

/-- A defined condition evaluates to its value. -/
theorem BExpr.eval_eq (E : Env R) (r : Reg R) :
    (e : BExpr) → e.ok E r → e.eval E r = some (decide (e.val E r))
  | .lit b, _ => by simp [BExpr.eval, BExpr.val]
  | .icmp op a b, h => by
    simp only [BExpr.ok] at h
    simp only [BExpr.eval, BExpr.val, IExpr.eval_eq E r a h.1, IExpr.eval_eq E r b h.2, CmpOp.int_eq]
  | .rcmp op a b, h => by
    simp only [BExpr.ok] at h
    simp only [BExpr.eval, BExpr.val, RExpr.eval_eq E r a h.1, RExpr.eval_eq E r b h.2]
  | .and a b, h => by
    simp only [BExpr.ok] at h
    simp only [BExpr.eval, BExpr.val, BExpr.eval_eq E r a h.1]
    by_cases hc : a.val E r
    · simp only [hc, decide_true, true_and]; exact BExpr.eval_eq E r b (h.2 hc)
    · simp only [hc, decide_false, false_and]
  | .or a b, h => by
    simp only [BExpr.ok] at h
    simp only [BExpr.eval, BExpr.val, BExpr.eval_eq E r a h.1]
    by_cases hc : a.val E r
    · simp only [hc, decide_true, true_or]
    · simp only [hc, decide_false, false_or]; exact BExpr.eval_eq E r b (h.2 hc)
  | .not a, h => by
    simp only [BExpr.ok] at h
    simp only [BExpr.eval, BExpr.val, BExpr.eval_eq E r a h]
    by_cases hc : a.val E r <;> simp [hc]

/-- A defined scalar expression evaluates to its value. -/
theorem RExpr.eval_eq (E : Env R) (r : Reg R) : (e : RExpr) → e.ok E r → e.eval E r = some (e.val E r)
  | .lit num den, h => by simp only [RExpr.eval, RExpr.val]; exact if_neg h
  | .ninf, _ => by simp only [RExpr.eval, RExpr.val]
  | .var v, _ => by simp only [RExpr.eval, RExpr.val]
  | .param p, _ => by simp only [RExpr.eval, RExpr.val]
  | .bin op a b, h => by
    simp only [RExpr.ok] at h
    simp only [RExpr.eval, RExpr.val, RExpr.eval_eq E r a h.1, RExpr.eval_eq E r b h.2.1, if_pos h.2.2]
  | .fn f a, h => by
    simp only [RExpr.ok] at h
    simp only [RExpr.eval, RExpr.val, RExpr.eval_eq E r a h.1, if_pos h.2]
  | .ofInt a, h => by
    simp only [RExpr.ok] at h
    simp only [RExpr.eval, RExpr.val, IExpr.eval_eq E r a h]
  | .select c a b, h => by
    simp only [RExpr.ok] at h
    simp only [RExpr.eval, RExpr.val, BExpr.eval_eq E r c h.1]
    by_cases hc : c.val E r
    · simp only [hc, decide_true, if_true]; exact RExpr.eval_eq E r a (h.2.1 hc)
    · simp only [hc, decide_false, if_false]; exact RExpr.eval_eq E r b (h.2.2 hc)
end

attribute [simp] IExpr.val IExpr.ok BExpr.val BExpr.ok RExpr.val RExpr.ok CmpOp.intProp CmpOp.ext
  IntOp.fn IntOp.defined IntTy.inRange IntTy.low IntTy.high IntTy.bits RealOp.fn RealOp.defined
  RealFn.fn RealFn.real RealFn.defined Reg.setI Reg.setR Reg.setL

end KShell
