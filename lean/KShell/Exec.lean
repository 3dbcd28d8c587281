module

public import KShell.Eval
public import KShell.Scalar.Model

/-!
# Evaluation, executed

The evaluation of expressions over the rational numbers with decidable comparisons, so that it runs in
the type checker. `run_sound` says that it agrees with the trusted `eval` wherever it has an answer; it
has none for the functions that leave the rationals. The tests compare it with the interpreter on
random expressions.
-/

@[expose] public section
noncomputable section
namespace KShell

/-- An answer: `none` where the function is not executable, `some none` where the expression is undefined. -/
abbrev Answer (α : Type) := Option (Option α)

/-- Continue with a value. -/
def Answer.bind {α β : Type} (x : Answer α) (f : α → Answer β) : Answer β :=
  match x with
  | none => none
  | some none => some none
  | some (some a) => f a

theorem Answer.bind_eq {α β : Type} {x : Answer α} {f : α → Answer β} {v : Option β} (h : x.bind f = some v) :
    (x = some none ∧ v = none) ∨ ∃ a, x = some (some a) ∧ f a = some v := by
  match x, h with
  | none, h => cases h
  | some none, h => cases h; exact .inl ⟨rfl, rfl⟩
  | some (some a), h => exact .inr ⟨a, rfl, h⟩

instance : DecidableEq (Ext Rat)
  | .fin a, .fin b => if h : a = b then isTrue (h ▸ rfl) else isFalse fun e => h (by cases e; rfl)
  | .ninf, .ninf => isTrue rfl
  | .fin _, .ninf => isFalse nofun
  | .ninf, .fin _ => isFalse nofun

/-- Comparison of scalars, decided. -/
def CmpOp.run : CmpOp → Ext Rat → Ext Rat → Bool
  | .lt, .fin a, .fin b => a < b
  | .lt, .ninf, .fin _ => true
  | .lt, _, .ninf => false
  | .le, .fin a, .fin b => a ≤ b
  | .le, .ninf, _ => true
  | .le, .fin _, .ninf => false
  | .eq, a, b => a = b

/-- A binary scalar operation, decided. -/
def RealOp.run : RealOp → Ext Rat → Ext Rat → Option (Ext Rat)
  | .add, a, b => some (a.add b)
  | .sub, a, .fin b => some (a.sub (.fin b))
  | .mul, .fin a, .fin b => some (.fin (a * b))
  | .div, .fin a, .fin b => if b = 0 then none else some (.fin (a / b))
  | .max, .fin a, .fin b => some (.fin (if a ≤ b then b else a))
  | .max, .ninf, b => some b
  | .max, a, .ninf => some a
  | .min, .fin a, .fin b => some (.fin (if a ≤ b then a else b))
  | .min, _, _ => some .ninf
  | _, _, _ => none

/-- A unary scalar function that stays in the rationals, decided. -/
def RealFn.run : RealFn → Ext Rat → Answer (Ext Rat)
  | .neg, .fin a => some (some (.fin (-a)))
  | .abs, .fin a => some (some (.fin (if 0 ≤ a then a else -a)))
  | .neg, .ninf | .abs, .ninf => some none
  | .exp, .ninf => some (some (.fin 0))
  | .exp, .fin _ => none
  | .log, x | .rsqrt, x => match x with
    | .fin a => if 0 < a then none else some none
    | .ninf => some none
  | .sqrt, x => match x with
    | .fin a => if 0 ≤ a then none else some none
    | .ninf => some none
  | _, .fin _ => none
  | _, .ninf => some none

mutual
/-- Evaluation of integer expressions. -/
def IExpr.run (E : Env Rat) (r : Reg Rat) : IExpr → Answer Int
  | .lit n t => some (t.clip n)
  | .var v => some (some (r.iv v))
  | .param p => some (some (E.iparam p))
  | .special s d => some (some (E.special s d))
  | .bin op t a b => (a.run E r).bind fun x => (b.run E r).bind fun y => some (op.eval t x y)
  | .cast t a => (a.run E r).bind fun x => some (t.clip x)
  | .select c a b => (c.run E r).bind fun x => if x then a.run E r else b.run E r

/-- Evaluation of conditions. -/
def BExpr.run (E : Env Rat) (r : Reg Rat) : BExpr → Answer Bool
  | .lit b => some (some b)
  | .icmp op a b => (a.run E r).bind fun x => (b.run E r).bind fun y => some (some (op.int x y))
  | .rcmp op a b => (a.run E r).bind fun x => (b.run E r).bind fun y => some (some (op.run x y))
  | .and a b => (a.run E r).bind fun x => if x then b.run E r else some (some false)
  | .or a b => (a.run E r).bind fun x => if x then some (some true) else b.run E r
  | .not a => (a.run E r).bind fun x => some (some (!x))

/-- Evaluation of scalar expressions. -/
def RExpr.run (E : Env Rat) (r : Reg Rat) : RExpr → Answer (Ext Rat)
  | .lit num den => some (if den = 0 then none else some (.fin (KShell.ofRat num den)))
  | .ninf => some (some .ninf)
  | .var v => some (some (r.rv v))
  | .param p => some (some (.fin (E.rparam p)))
  | .bin op a b => (a.run E r).bind fun x => (b.run E r).bind fun y => some (op.run x y)
  | .fn f a => (a.run E r).bind fun x => f.run x
  | .ofInt a => (a.run E r).bind fun n => some (some (.fin (KShell.ofInt n)))
  | .select c a b => (c.run E r).bind fun x => if x then a.run E r else b.run E r
end

theorem CmpOp.run_eq (op : CmpOp) (x y : Ext Rat) : op.run x y = true ↔ op.ext x y := by
  cases op <;> cases x <;> cases y <;> simp [CmpOp.run, CmpOp.ext]

theorem RealOp.run_eq (op : RealOp) (x y : Ext Rat) :
    (op.defined x y → op.run x y = some (op.fn x y)) ∧ (¬ op.defined x y → op.run x y = none) := by
  cases op <;> cases x <;> cases y <;>
    simp +contextual [RealOp.run, RealOp.defined, RealOp.fn, maxR, minR] <;> first | rfl | (split <;> simp_all)

theorem RealFn.run_sound (f : RealFn) (x : Ext Rat) {v : Option (Ext Rat)} (h : f.run x = some v) :
    (f.defined x → v = some (f.fn x)) ∧ (¬ f.defined x → v = none) := by
  cases f <;> cases x <;> simp_all [RealFn.run, RealFn.defined, RealFn.fn, RealFn.real, absR] <;> first | (subst h; rfl) | (split at h <;> simp_all)

mutual
/-- The answer is the value of the trusted evaluation. -/
theorem IExpr.run_sound (E : Env Rat) (r : Reg Rat) : (e : IExpr) → ∀ {v}, e.run E r = some v → e.eval E r = v
  | .lit n t, v, h | .var n, v, h | .param n, v, h | .special n d, v, h => by
    simp only [IExpr.run, Option.some.injEq] at h; simp only [IExpr.eval, h]
  | .bin op t a b, v, h => by
    simp only [IExpr.run] at h
    simp only [IExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [IExpr.run_sound E r a ha]
    · rcases Answer.bind_eq h with ⟨hb, rfl⟩ | ⟨y, hb, h⟩
      · simp only [IExpr.run_sound E r a ha, IExpr.run_sound E r b hb]
      · cases h; simp only [IExpr.run_sound E r a ha, IExpr.run_sound E r b hb]
  | .cast t a, v, h => by
    simp only [IExpr.run] at h
    simp only [IExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [IExpr.run_sound E r a ha]
    · cases h; simp only [IExpr.run_sound E r a ha]
  | .select c a b, v, h => by
    simp only [IExpr.run] at h
    simp only [IExpr.eval]
    rcases Answer.bind_eq h with ⟨hc, rfl⟩ | ⟨x, hc, h⟩
    · simp only [BExpr.run_sound E r c hc]
    · simp only [BExpr.run_sound E r c hc]
      cases x
      · exact IExpr.run_sound E r b h
      · exact IExpr.run_sound E r a h

/-- The answer is the value of the trusted evaluation. -/
theorem BExpr.run_sound (E : Env Rat) (r : Reg Rat) : (e : BExpr) → ∀ {v}, e.run E r = some v → e.eval E r = v
  | .lit b, v, h => by simp only [BExpr.run, Option.some.injEq] at h; simp only [BExpr.eval, h]
  | .icmp op a b, v, h => by
    simp only [BExpr.run] at h
    simp only [BExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [IExpr.run_sound E r a ha]
    · rcases Answer.bind_eq h with ⟨hb, rfl⟩ | ⟨y, hb, h⟩
      · simp only [IExpr.run_sound E r a ha, IExpr.run_sound E r b hb]
      · cases h; simp only [IExpr.run_sound E r a ha, IExpr.run_sound E r b hb]
  | .rcmp op a b, v, h => by
    simp only [BExpr.run] at h
    simp only [BExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [RExpr.run_sound E r a ha]
    · rcases Answer.bind_eq h with ⟨hb, rfl⟩ | ⟨y, hb, h⟩
      · simp only [RExpr.run_sound E r a ha, RExpr.run_sound E r b hb]
      · cases h
        simp only [RExpr.run_sound E r a ha, RExpr.run_sound E r b hb, Option.some.injEq]
        cases hr : op.run x y
        · simp only [decide_eq_false_iff_not]
          exact fun h => by simp [(CmpOp.run_eq op x y).mpr h] at hr
        · simp only [decide_eq_true_eq]
          exact (CmpOp.run_eq op x y).mp hr
  | .and a b, v, h => by
    simp only [BExpr.run] at h
    simp only [BExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [BExpr.run_sound E r a ha]
    · simp only [BExpr.run_sound E r a ha]
      cases x
      · cases h; rfl
      · exact BExpr.run_sound E r b h
  | .or a b, v, h => by
    simp only [BExpr.run] at h
    simp only [BExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [BExpr.run_sound E r a ha]
    · simp only [BExpr.run_sound E r a ha]
      cases x
      · exact BExpr.run_sound E r b h
      · cases h; rfl
  | .not a, v, h => by
    simp only [BExpr.run] at h
    simp only [BExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [BExpr.run_sound E r a ha]
    · cases h; simp only [BExpr.run_sound E r a ha]

/-- The answer is the value of the trusted evaluation. -/
theorem RExpr.run_sound (E : Env Rat) (r : Reg Rat) : (e : RExpr) → ∀ {v}, e.run E r = some v → e.eval E r = v
  | .lit n d, v, h | .ninf, v, h | .var n, v, h | .param n, v, h => by
    simp only [RExpr.run, Option.some.injEq] at h; simp only [RExpr.eval, h]
  | .bin op a b, v, h => by
    simp only [RExpr.run] at h
    simp only [RExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [RExpr.run_sound E r a ha]
    · rcases Answer.bind_eq h with ⟨hb, rfl⟩ | ⟨y, hb, h⟩
      · simp only [RExpr.run_sound E r a ha, RExpr.run_sound E r b hb]
      · cases h
        simp only [RExpr.run_sound E r a ha, RExpr.run_sound E r b hb]
        by_cases hd : op.defined x y
        · rw [if_pos hd, (RealOp.run_eq op x y).1 hd]
        · rw [if_neg hd, (RealOp.run_eq op x y).2 hd]
  | .fn f a, v, h => by
    simp only [RExpr.run] at h
    simp only [RExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [RExpr.run_sound E r a ha]
    · simp only [RExpr.run_sound E r a ha]
      by_cases hd : f.defined x
      · rw [if_pos hd, (RealFn.run_sound f x h).1 hd]
      · rw [if_neg hd, (RealFn.run_sound f x h).2 hd]
  | .ofInt a, v, h => by
    simp only [RExpr.run] at h
    simp only [RExpr.eval]
    rcases Answer.bind_eq h with ⟨ha, rfl⟩ | ⟨x, ha, h⟩
    · simp only [IExpr.run_sound E r a ha]
    · cases h; simp only [IExpr.run_sound E r a ha]
  | .select c a b, v, h => by
    simp only [RExpr.run] at h
    simp only [RExpr.eval]
    rcases Answer.bind_eq h with ⟨hc, rfl⟩ | ⟨x, hc, h⟩
    · simp only [BExpr.run_sound E r c hc]
    · simp only [BExpr.run_sound E r c hc]
      cases x
      · exact RExpr.run_sound E r b h
      · exact RExpr.run_sound E r a h
end

end KShell
