module

public import KShell.Rules.Expr

/-!
# Weakest preconditions of thread code

`Stmt.wp E P p Q s`: from state `s`, thread code `p` runs without a fault, touches shared and global
cells only as the permission `P` allows, ends, and ends in `Q`. Proofs never unfold `Stmt.wp`; they use
the lemmas `wp_*`. Collectives and barriers are the business of the warp and block rules: thread code
contains none.
-/

@[expose] public section
noncomputable section
namespace KShell
set_option linter.unusedSectionVars false

/-- Memory as a block sees it: the cells of global arrays and of its own shared arrays. -/
abbrev Mem (R : Type) := Nat → Int → Option (Ext R)

/-- Replace the value of a cell. -/
def Mem.set {R : Type} (m : Mem R) (a : Nat) (i : Int) (x : Ext R) : Mem R :=
  fun b j => if b = a ∧ j = i then some x else m b j

/-- State of one thread: its registers and the memory. -/
structure St (R : Type) where
  /-- Registers. -/
  reg : Reg R
  /-- Memory. -/
  mem : Mem R

/-- What a thread may read, and which values it may write where. -/
structure Perm (R : Type) where
  /-- Cells that may be read. -/
  rd : Nat → Int → Prop
  /-- Cells that may be written, with the value. -/
  wr : Nat → Int → Ext R → Prop

variable {R : Type} [ExactReal R]

/-- At most `n` tests of a loop end in `Q`: `ok` and `val` are definedness and value of its condition,
`f` is the transformer of its body. -/
def whileN {σ : Type} (ok val : σ → Prop) (f : (σ → Prop) → σ → Prop) : Nat → (σ → Prop) → σ → Prop
  | 0, _, _ => False
  | n + 1, Q, s => ok s ∧ (val s → f (whileN ok val f n Q) s) ∧ (¬ val s → Q s)

/-- Weakest precondition of thread code. -/
def Stmt.wp (E : Env R) (P : Perm R) : Stmt → (St R → Prop) → St R → Prop
  | .skip, Q, s => Q s
  | .seq a b, Q, s => a.wp E P (b.wp E P Q) s
  | .seti v e, Q, s => e.ok E s.reg ∧ Q ⟨s.reg.setI v (e.val E s.reg), s.mem⟩
  | .setr v e, Q, s => e.ok E s.reg ∧ Q ⟨s.reg.setR v (e.val E s.reg), s.mem⟩
  | .load v a i, Q, s => i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧
      P.rd a (i.val E s.reg) ∧ ∃ x, s.mem a (i.val E s.reg) = some x ∧ Q ⟨s.reg.setR v x, s.mem⟩
  | .store a i e, Q, s => i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧
      e.ok E s.reg ∧ P.wr a (i.val E s.reg) (e.val E s.reg) ∧
      Q ⟨s.reg, Mem.set s.mem a (i.val E s.reg) (e.val E s.reg)⟩
  | .lload v a i, Q, s => i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧
      ∃ x, s.reg.loc a (i.val E s.reg) = some x ∧ Q ⟨s.reg.setR v x, s.mem⟩
  | .lstore a i e, Q, s => i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧
      e.ok E s.reg ∧ Q ⟨s.reg.setL a (i.val E s.reg) (e.val E s.reg), s.mem⟩
  | .ite c a b, Q, s => c.ok E s.reg ∧ (c.val E s.reg → a.wp E P Q s) ∧ (¬ c.val E s.reg → b.wp E P Q s)
  | .while c body, Q, s =>
      ∃ n, whileN (fun s => c.ok E s.reg) (fun s => c.val E s.reg) (body.wp E P) n Q s
  | .check c, Q, s => c.ok E s.reg ∧ c.val E s.reg ∧ Q s
  | .barrier, _, _ | .syncwarp, _, _ | .shfl _ _ _ _ _, _, _ => False

section lemmas
variable {E : Env R} {P : Perm R} {Q : St R → Prop} {s : St R}

@[simp] theorem wp_skip : Stmt.skip.wp E P Q s = Q s := rfl
@[simp] theorem wp_seq {a b} : (Stmt.seq a b).wp E P Q s = a.wp E P (b.wp E P Q) s := rfl
@[simp] theorem wp_seti {v e} : (Stmt.seti v e).wp E P Q s =
    (e.ok E s.reg ∧ Q ⟨s.reg.setI v (e.val E s.reg), s.mem⟩) := rfl
@[simp] theorem wp_setr {v e} : (Stmt.setr v e).wp E P Q s =
    (e.ok E s.reg ∧ Q ⟨s.reg.setR v (e.val E s.reg), s.mem⟩) := rfl
@[simp] theorem wp_load {v a i} : (Stmt.load v a i).wp E P Q s =
    (i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧ P.rd a (i.val E s.reg) ∧
      ∃ x, s.mem a (i.val E s.reg) = some x ∧ Q ⟨s.reg.setR v x, s.mem⟩) := rfl
@[simp] theorem wp_store {a i e} : (Stmt.store a i e).wp E P Q s =
    (i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧ e.ok E s.reg ∧
      P.wr a (i.val E s.reg) (e.val E s.reg) ∧
      Q ⟨s.reg, Mem.set s.mem a (i.val E s.reg) (e.val E s.reg)⟩) := rfl
@[simp] theorem wp_lload {v a i} : (Stmt.lload v a i).wp E P Q s =
    (i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧
      ∃ x, s.reg.loc a (i.val E s.reg) = some x ∧ Q ⟨s.reg.setR v x, s.mem⟩) := rfl
@[simp] theorem wp_lstore {a i e} : (Stmt.lstore a i e).wp E P Q s =
    (i.ok E s.reg ∧ (0 ≤ i.val E s.reg ∧ i.val E s.reg < E.size a) ∧ e.ok E s.reg ∧
      Q ⟨s.reg.setL a (i.val E s.reg) (e.val E s.reg), s.mem⟩) := rfl
@[simp] theorem wp_ite {c a b} : (Stmt.ite c a b).wp E P Q s =
    (c.ok E s.reg ∧ (c.val E s.reg → a.wp E P Q s) ∧ (¬ c.val E s.reg → b.wp E P Q s)) := rfl
@[simp] theorem wp_check {c} : (Stmt.check c).wp E P Q s =
    (c.ok E s.reg ∧ c.val E s.reg ∧ Q s) := rfl
end lemmas

theorem whileN_mono {σ : Type} {ok val : σ → Prop} {f g : (σ → Prop) → σ → Prop}
    (hf : ∀ (Q Q' : σ → Prop) s, (∀ s, Q s → Q' s) → f Q s → g Q' s) {Q Q' : σ → Prop}
    (h : ∀ s, Q s → Q' s) : ∀ n s, whileN ok val f n Q s → whileN ok val g n Q' s := by
  intro n; induction n with
  | zero => intro s; exact id
  | succ n ih =>
    intro s ⟨h1, h2, h3⟩
    exact ⟨h1, fun hv => hf _ _ _ ih (h2 hv), fun hv => h _ (h3 hv)⟩

/-- The precondition is monotone in the postcondition and in the permission. -/
theorem Stmt.wp_mono_perm (E : Env R) {P P' : Perm R} (hr : ∀ a i, P.rd a i → P'.rd a i)
    (hw : ∀ a i x, P.wr a i x → P'.wr a i x) (p : Stmt) :
    ∀ {Q Q' : St R → Prop} s, (∀ s, Q s → Q' s) → p.wp E P Q s → p.wp E P' Q' s := by
  induction p with
  | skip => intro Q Q' s h; exact h s
  | seq a b iha ihb => intro Q Q' s h; exact iha s (fun s' => ihb s' h)
  | seti v e => intro Q Q' s h ⟨a, b⟩; exact ⟨a, h _ b⟩
  | setr v e => intro Q Q' s h ⟨a, b⟩; exact ⟨a, h _ b⟩
  | load v a i => intro Q Q' s h ⟨a, b, c, x, d, e⟩; exact ⟨a, b, hr _ _ c, x, d, h _ e⟩
  | store a i e => intro Q Q' s h ⟨a, b, c, d, e⟩; exact ⟨a, b, c, hw _ _ _ d, h _ e⟩
  | lload v a i => intro Q Q' s h ⟨a, b, x, d, e⟩; exact ⟨a, b, x, d, h _ e⟩
  | lstore a i e => intro Q Q' s h ⟨a, b, c, e⟩; exact ⟨a, b, c, h _ e⟩
  | ite c a b iha ihb =>
    intro Q Q' s h ⟨h1, h2, h3⟩
    exact ⟨h1, fun hc => iha s h (h2 hc), fun hc => ihb s h (h3 hc)⟩
  | «while» c body ih =>
    intro Q Q' s h ⟨n, hn⟩
    exact ⟨n, whileN_mono (fun _ _ s h => ih s h) h n s hn⟩
  | check c => intro Q Q' s h ⟨a, b, c⟩; exact ⟨a, b, h _ c⟩
  | barrier | syncwarp => intro Q Q' s _ h; exact h
  | shfl => intro Q Q' s _ h; exact h

/-- The precondition is monotone in the postcondition. -/
theorem Stmt.wp_mono (E : Env R) (P : Perm R) (p : Stmt) {Q Q' : St R → Prop} (s : St R)
    (h : ∀ s, Q s → Q' s) : p.wp E P Q s → p.wp E P Q' s :=
  p.wp_mono_perm E (fun _ _ h => h) (fun _ _ _ h => h) s h

/-- The precondition is monotone in the permission. -/
theorem Stmt.wp_perm (E : Env R) (P P' : Perm R) (p : Stmt) (Q : St R → Prop) (s : St R)
    (hr : ∀ a i, P.rd a i → P'.rd a i) (hw : ∀ a i x, P.wr a i x → P'.wr a i x) :
    p.wp E P Q s → p.wp E P' Q s :=
  p.wp_mono_perm E hr hw s fun _ h => h

/-- Invariant rule for a loop of exactly `N` rounds: `I k` holds at the test before round `k`. -/
theorem whileN_inv {σ : Type} {ok val : σ → Prop} {f : (σ → Prop) → σ → Prop}
    (hf : ∀ (Q Q' : σ → Prop) s, (∀ s, Q s → Q' s) → f Q s → f Q' s) {Q : σ → Prop} {s : σ}
    (N : Nat) (I : Nat → σ → Prop) (h0 : I 0 s)
    (hstep : ∀ k s, k < N → I k s → ok s ∧ val s ∧ f (I (k + 1)) s)
    (hexit : ∀ s, I N s → ok s ∧ ¬ val s ∧ Q s) : ∃ n, whileN ok val f n Q s := by
  have main : ∀ m k s, k + m = N → I k s → whileN ok val f (m + 1) Q s := by
    intro m; induction m with
    | zero =>
      intro k s hk hi; subst hk; have := hexit s hi
      exact ⟨this.1, fun h => absurd h this.2.1, fun _ => this.2.2⟩
    | succ m ih =>
      intro k s hk hi
      have := hstep k s (by omega) hi
      exact ⟨this.1, fun _ => hf _ _ _ (fun s' h' => ih (k + 1) s' (by omega) h') this.2.2,
        fun h => absurd this.2.1 h⟩
  exact ⟨N + 1, main N 0 s (by omega) h0⟩

section rules
variable {E : Env R} {P : Perm R} {Q : St R → Prop} {s : St R}

/-- Cut a sequence at an assertion. -/
theorem vc_seq {a b : Stmt} (mid : St R → Prop) (h1 : a.wp E P mid s)
    (h2 : ∀ σ, mid σ → b.wp E P Q σ) : (Stmt.seq a b).wp E P Q s :=
  Stmt.wp_mono E P a s h2 h1

/-- Split a conditional. -/
theorem vc_ite {c : BExpr} {a b : Stmt} (h0 : c.ok E s.reg) (h1 : c.val E s.reg → a.wp E P Q s)
    (h2 : ¬ c.val E s.reg → b.wp E P Q s) : (Stmt.ite c a b).wp E P Q s :=
  ⟨h0, h1, h2⟩

/-- A loop of exactly `N` rounds with invariant `I k` before round `k`. -/
theorem vc_while {c : BExpr} {body : Stmt} (N : Nat) (I : Nat → St R → Prop) (h0 : I 0 s)
    (hc : ∀ k σ, k < N → I k σ → c.ok E σ.reg ∧ c.val E σ.reg)
    (hb : ∀ k σ, k < N → I k σ → body.wp E P (I (k + 1)) σ)
    (hx : ∀ σ, I N σ → c.ok E σ.reg ∧ ¬ c.val E σ.reg ∧ Q σ) : (Stmt.while c body).wp E P Q s :=
  whileN_inv (fun _ _ s h => Stmt.wp_mono E P body s h) N I h0
    (fun k σ h1 h2 => ⟨(hc k σ h1 h2).1, (hc k σ h1 h2).2, hb k σ h1 h2⟩) hx

end rules

theorem Mem.set_same {m : Mem R} {a i j x} (h : j = i) : Mem.set m a i x a j = some x := by
  simp [Mem.set, h]

theorem Mem.set_ne {m : Mem R} {a b i j x} (h : j ≠ i) : Mem.set m a i x b j = m b j := by
  simp [Mem.set, h]

theorem Mem.set_arr {m : Mem R} {a b i j x} (h : b ≠ a) : Mem.set m a i x b j = m b j := by
  simp [Mem.set, h]

/-- Permission of a single-phase kernel: read arrays that are not outputs, read and write the output
cells that belong to the thread. `own a i` is the owner of cell `i` of output `a`, a pair of block and
thread numbers. -/
abbrev tperm (out : Nat → Prop) (own : Nat → Int → Int × Int) (b t : Int) : Perm R :=
  ⟨fun a i => ¬ out a ∨ own a i = (b, t), fun a i _ => out a ∧ own a i = (b, t)⟩

end KShell
