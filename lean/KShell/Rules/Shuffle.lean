module

public import KShell.Rules.Run
public import KShell.Scalar.Butterfly

/-!
# Warp reductions by shuffles

`warp_xor_reduce`: the five statements pairs `d := __shfl_xor_sync(full, s, m); s := s op d` for
`m = 16, 8, 4, 2, 1` leave the fold of the 32 values of register `s` in every lane, for sums and maxima, and
change no other register besides `d`.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

instance : Std.Commutative (α := Ext R) Ext.add :=
  ⟨by intro a b; cases a <;> cases b <;> simp; exact Std.Commutative.comm (op := (· + ·)) _ _⟩
instance : Std.Associative (α := Ext R) Ext.add :=
  ⟨by intro a b c; cases a <;> cases b <;> cases c <;> simp; exact Std.Associative.assoc (op := (· + ·)) _ _ _⟩
instance : Std.LawfulIdentity (α := Ext R) Ext.add (.fin 0) where
  left_id a := by cases a <;> simp; exact Std.LawfulLeftIdentity.left_id (op := (· + ·)) _
  right_id a := by cases a <;> simp; exact Std.LawfulRightIdentity.right_id (op := (· + ·)) _

/-- A sum of finite values. -/
theorem fold_add_fin (f : Nat → R) (n : Nat) : foldTo Ext.add (.fin 0) (fun k => .fin (f k)) n = .fin (sumTo f n) := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [foldTo_succ, ih, Ext.add_fin]

theorem xor_source (m : Int) (hm : m = 16 ∨ m = 8 ∨ m = 4 ∨ m = 2 ∨ m = 1) :
    ∀ l, l < 32 → ShflKind.xor.source 32 l m = some (l ^^^ m.toNat) ∧ l ^^^ m.toNat < 32 := by
  rcases hm with rfl | rfl | rfl | rfl | rfl <;> decide

/-- One round with the rest of the warp code. -/
abbrev xorRound (op : RealOp) (d s : Nat) (m : Int) (rest : Stmt) : Stmt :=
  .seq (.shfl .xor d s (.lit m .i32) 32) <| .seq (.setr s (.bin op (.var s) (.var d))) rest

/-- Registers `s` hold `v`; the other registers besides `d` are as in `β`. -/
def Holding (d s : Nat) (v : Nat → Ext R) (β β' : WSt R) : Prop :=
  β'.mem = β.mem ∧ β'.own = β.own ∧ ∀ l, l < 32 → (β'.reg l).rv s = v l ∧ (β'.reg l).iv = (β.reg l).iv ∧
    (β'.reg l).loc = (β.reg l).loc ∧ ∀ r, r ≠ s → r ≠ d → (β'.reg l).rv r = (β.reg l).rv r

variable {W : WarpCtx} {Q : WSt R → Prop} {β β0 : WSt R}

/-- One round of a reduction turns the values into their butterfly. -/
theorem warp_xor_round (hlive : ∀ l, l < 32 → W.live l) {op : RealOp} (hop : op = .add ∨ op = .max) {d s : Nat}
    (hds : s ≠ d) {m : Int} (hm : m = 16 ∨ m = 8 ∨ m = 4 ∨ m = 2 ∨ m = 1) {rest : Stmt} {v : Nat → Ext R}
    (hv : Holding d s v β0 β)
    (k : ∀ β', Holding d s (butterfly op.fn m.toNat v) β0 β' → warpWp W rest Q β') :
    warpWp W (xorRound op d s m rest) Q β := by
  obtain ⟨hmem, hown, hreg⟩ := hv
  have hr : -2147483648 ≤ m ∧ m ≤ 2147483647 := by omega
  refine warp_seq (warp_shfl (fun l => l ^^^ m.toNat) hlive (fun l hl => ⟨by simpa using hr, xor_source m hm l hl⟩) ?_)
  refine warp_seq (warp_run_pure (fun l r => r.rv s = butterfly op.fn m.toNat v l ∧ r.iv = (β0.reg l).iv ∧
    r.loc = (β0.reg l).loc ∧ ∀ q, q ≠ s → q ≠ d → r.rv q = (β0.reg l).rv q) ?_ ?_)
  · intro l hl _
    obtain ⟨h1, h2, h3, h4⟩ := hreg l hl
    have h5 := (hreg _ (xor_source m hm l hl).2).1
    refine ⟨?_, rfl, ?_, h2, h3, fun q hqs hqd => ?_⟩
    · rcases hop with rfl | rfl <;> simp
    · show (if s = s then _ else _) = _
      rw [if_pos rfl]
      show op.fn (if s = d then _ else _) (if d = d then _ else _) = _
      rw [if_neg hds, if_pos rfl, h1, h5]; rfl
    · show (if q = s then _ else if q = d then _ else _) = _
      rw [if_neg hqs, if_neg hqd]; exact h4 q hqs hqd
  · intro β' ho hmm hr
    exact k β' ⟨hmm.trans hmem, ho.trans hown, fun l hl => hr l hl (hlive l hl)⟩

/-- A whole reduction: every lane ends with the fold of all 32 values. -/
theorem warp_xor_reduce (hlive : ∀ l, l < 32 → W.live l) {op : RealOp} (hop : op = .add ∨ op = .max) {e : Ext R}
    [Std.Associative (α := Ext R) op.fn] [Std.Commutative (α := Ext R) op.fn]
    [Std.LawfulIdentity (α := Ext R) op.fn e] {d s : Nat} (hds : s ≠ d) {rest : Stmt} {v : Nat → Ext R}
    (hv : ∀ l, l < 32 → (β.reg l).rv s = v l)
    (k : ∀ β', Holding d s (fun _ => foldTo op.fn e v 32) β β' → warpWp W rest Q β') :
    warpWp W (xorRound op d s 16 <| xorRound op d s 8 <| xorRound op d s 4 <| xorRound op d s 2 <|
      xorRound op d s 1 rest) Q β := by
  have h0 : Holding d s v β β := ⟨rfl, rfl, fun l hl => ⟨hv l hl, rfl, rfl, fun _ _ _ => rfl⟩⟩
  refine warp_xor_round hlive hop hds (by omega) h0 fun β1 h1 => ?_
  refine warp_xor_round hlive hop hds (by omega) h1 fun β2 h2 => ?_
  refine warp_xor_round hlive hop hds (by omega) h2 fun β3 h3 => ?_
  refine warp_xor_round hlive hop hds (by omega) h3 fun β4 h4 => ?_
  refine warp_xor_round hlive hop hds (by omega) h4 fun β5 h5 => k β5 ?_
  obtain ⟨g1, g2, g3⟩ := h5
  refine ⟨g1, g2, fun l hl => ⟨(g3 l hl).1.trans ?_, (g3 l hl).2⟩⟩
  exact warp_reduce (op := op.fn) (e := e) v l hl

/-- Sum of finite values over a warp. -/
theorem warp_sum_reduce (hlive : ∀ l, l < 32 → W.live l) {d s : Nat} (hds : s ≠ d) {rest : Stmt} {f : Nat → R}
    (hv : ∀ l, l < 32 → (β.reg l).rv s = .fin (f l))
    (k : ∀ β', Holding d s (fun _ => .fin (sumTo f 32)) β β' → warpWp W rest Q β') :
    warpWp W (xorRound .add d s 16 <| xorRound .add d s 8 <| xorRound .add d s 4 <| xorRound .add d s 2 <|
      xorRound .add d s 1 rest) Q β := by
  have : Std.Associative (α := Ext R) RealOp.add.fn := inferInstanceAs (Std.Associative Ext.add)
  have : Std.Commutative (α := Ext R) RealOp.add.fn := inferInstanceAs (Std.Commutative Ext.add)
  have : Std.LawfulIdentity (α := Ext R) RealOp.add.fn (.fin 0) :=
    inferInstanceAs (Std.LawfulIdentity Ext.add (.fin 0))
  refine warp_xor_reduce (e := .fin 0) (v := fun l => .fin (f l)) hlive (.inl rfl) hds hv fun β' h => k β' ?_
  exact (show (fun _ => foldTo RealOp.add.fn (.fin 0) (fun l => .fin (f l)) 32) = fun _ : Nat => Ext.fin (sumTo f 32)
    from funext fun _ => fold_add_fin f 32) ▸ h

/-- Maximum over a warp; -infinity is the unit, so lanes without a value may take part. -/
theorem warp_max_reduce (hlive : ∀ l, l < 32 → W.live l) {d s : Nat} (hds : s ≠ d) {rest : Stmt} {v : Nat → Ext R}
    (hv : ∀ l, l < 32 → (β.reg l).rv s = v l)
    (k : ∀ β', Holding d s (fun _ => foldTo Ext.max .ninf v 32) β β' → warpWp W rest Q β') :
    warpWp W (xorRound .max d s 16 <| xorRound .max d s 8 <| xorRound .max d s 4 <| xorRound .max d s 2 <|
      xorRound .max d s 1 rest) Q β := by
  have : Std.Associative (α := Ext R) RealOp.max.fn := inferInstanceAs (Std.Associative Ext.max)
  have : Std.Commutative (α := Ext R) RealOp.max.fn := inferInstanceAs (Std.Commutative Ext.max)
  have : Std.LawfulIdentity (α := Ext R) RealOp.max.fn .ninf := inferInstanceAs (Std.LawfulIdentity Ext.max .ninf)
  exact warp_xor_reduce (e := .ninf) hlive (.inr rfl) hds hv k

end KShell
