module

public import KShell.Auto.Warps

/-!
# Two folds in one loop

A loop that reduces two arrays, or two registers, is a loop over pairs: `both f g` combines the first parts by
`f` and the second by `g`, and the fold of pairs is the pair of the folds. `lanes_xor_both` is the loop of xor
shuffles for two registers.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
open scoped Classical
set_option linter.unusedSectionVars false

section pairs
variable {α β : Type} {f : α → α → α} {g : β → β → β} {a : α} {b : β}

/-- Two operations on pairs, part by part. -/
def both (f : α → α → α) (g : β → β → β) (x y : α × β) : α × β := (f x.1 y.1, g x.2 y.2)

instance [hf : Std.Associative f] [hg : Std.Associative g] : Std.Associative (both f g) :=
  ⟨fun _ _ _ => Prod.ext (hf.assoc _ _ _) (hg.assoc _ _ _)⟩

instance [hf : Std.Commutative f] [hg : Std.Commutative g] : Std.Commutative (both f g) :=
  ⟨fun _ _ => Prod.ext (hf.comm _ _) (hg.comm _ _)⟩

instance [hf : Std.LawfulIdentity f a] [hg : Std.LawfulIdentity g b] : Std.LawfulIdentity (both f g) (a, b) where
  left_id _ := Prod.ext (hf.left_id _) (hg.left_id _)
  right_id _ := Prod.ext (hf.right_id _) (hg.right_id _)

/-- The fold of pairs is the pair of the folds. -/
theorem foldZ_both (u : Int → α) (v : Int → β) (n : Nat) :
    foldZ (both f g) (a, b) (fun i => (u i, v i)) n = (foldZ f a u n, foldZ g b v n) := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [foldZ]; rw [ih]; rfl

/-- Two folds whose totals are known. -/
theorem fold_both {u : Int → α} {v : Int → β} {n : Nat} {s : α} {t : β} (hu : foldZ f a u n = s)
    (hv : foldZ g b v n = t) : foldZ (both f g) (a, b) (fun i => (u i, v i)) n = (s, t) := by
  rw [foldZ_both, hu, hv]

end pairs

section shuffles
variable {R : Type} [ExactReal R] {L : Launch} {gown : Nat → Int → Option Nat} {b w : Nat}
  {own : Nat → Int → Option Nat} {M : Mem R} {σ : WSt R}
variable {α : Type} {op : α → α → α} {e : α} [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

/-- A loop of two xor shuffles with strides 16, 8, 4, 2, 1: every lane ends with the folds of the warp. `A w V`
says that the stride is `w` and that registers `s` and `s'` hold the parts of `V`; `C w V U` that registers `d`
and `d'` have received those of `U`. -/
theorem lanes_xor_both {c : BExpr} {d s d' s' : Nat} {arg arg' : IExpr} {rest : Stmt} {Q : WSt R → Prop}
    (emb emb' : α → Ext R) (hfull : 32 * w + 32 ≤ L.block.count)
    (A : Int → (Int → α) → Nat → St R → Prop) (C : Int → (Int → α) → (Int → α) → Nat → St R → Prop) {V : Int → α}
    (h0 : Lanes L own w M (A 16 V) σ)
    (hc : ∀ k V (t : Nat) r, 0 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      c.ok (L.env b t) r ∧ (c.val (L.env b t) r ↔ 1 ≤ k))
    (ha : ∀ k V (t : Nat) r, 1 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      arg.ok (L.env b t) r ∧ arg.val (L.env b t) r = k ∧ r.rv s = emb (V t))
    (ha' : ∀ k V (t : Nat) r x, 1 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      arg'.ok (L.env b t) (r.setR d x) ∧ arg'.val (L.env b t) (r.setR d x) = k ∧ (r.setR d x).rv s' = emb' (V t))
    (hd : ∀ k V U (t : Nat) r, 1 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      C k V U t ⟨(r.setR d (emb (U t))).setR d' (emb' (U t)), M⟩)
    (hp : storeless rest)
    (hs : ∀ k V U, 1 ≤ k → k ≤ 16 → Runs L gown b own (C k V U) rest (A (k / 2) fun t => op (V t) (U t)))
    (hx : ∀ V' σ', (∀ t : Nat, t / 32 = w → V' t = foldZ op e (fun l => V ((t : Int) / 32 * 32 + l)) 32) →
      Lanes L own w M (A 0 V') σ' → Q σ') :
    warpWp (warpOf L gown b own w) (.while c (.seq (.shfl .xor d s arg 32) (.seq (.shfl .xor d' s' arg' 32) rest))) Q σ := by
  refine lanes_rounds (op := op) (e := e) hfull A h0 hc (fun m V σ' h1 h2 hsrc h => ?_) hx
  refine warp_seq (warpWp_mono (fun σ2 h3 => warp_seq (warpWp_mono (fun σ3 h4 =>
      lanes_run hp h4 (hs m V (fun t => V (flipped w m t)) (by omega) (by omega)))
    (lanes_shfl (V := V) (B := C m V fun t => V (flipped w m t)) emb' hfull hsrc h3 ?_ ?_)))
    (lanes_shfl (B := fun t σ => ∃ r, A m V t ⟨r, M⟩ ∧ σ = ⟨r.setR d (emb (V (flipped w m t))), M⟩) emb hfull hsrc h
      (fun t r ht => ha m V t r (by omega) (by omega) ht) (fun t r ht hr => ⟨r, hr, rfl⟩)))
  · rintro t r ht ⟨r0, hr, e⟩
    have e1 : r = r0.setR d (emb (V (flipped w m t))) := congrArg St.reg e
    rw [e1]; exact ha' m V t r0 _ (by omega) (by omega) ht hr
  · rintro t r ht ⟨r0, hr, e⟩
    have e1 : r = r0.setR d (emb (V (flipped w m t))) := congrArg St.reg e
    rw [e1]; exact hd m V _ t r0 (by omega) (by omega) ht hr

end shuffles

end KShell.Auto
