package wording

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// resourceRate is "+1.00 fd/op: socket to 127.0.0.1:40001 (ESTABLISHED)".
func resourceRate(r *finding.Resource) string {
	if r.Native != nil {
		return nativeRate(r.Native, r.Own)
	}
	if r.Kind.InBytes() {
		return "+" + series.BytesPerCall(r.Own.PerCall()) + "/op: " + resourceName(r)
	}
	rate := series.PerCallText(r.Own)
	s := rate + " " + r.Kind.Noun(rate == "+1.00") + "/op"
	if r.Kind == ledger.Thread || r.Kind == ledger.Variable {
		return s
	}
	return s + ": " + resourceName(r)
}

// resourceName returns the resource's name, with its state.
func resourceName(r *finding.Resource) string {
	s := textfmt.Abridge(r.Name, message.MaxNameShown)
	if r.State != "" {
		s += " (" + r.State + ")"
	}
	return s
}

// resourceRates are the rates of all resources of the leak.
func resourceRates(l *finding.Leak) string {
	rates := make([]string, len(l.Resources))
	for i, r := range l.Resources {
		rates[i] = resourceRate(r)
	}
	return strings.Join(rates, ", ")
}

// explainResources says how the resources grew, and what holds them.
func (w *Wording) explainResources(l *finding.Leak) []string {
	var lines []string
	held := false
	for _, r := range l.Resources {
		lines = append(lines, r.Own.Show(r.Kind.Counted()))
		by := w.nativeHeldBy(r)
		lines, held = append(lines, by...), held || by != nil
		if r.Holder != nil {
			lines = append(lines, fmt.Sprintf("%s belongs to a %s at %s", howMany(r), message.TypeText(r.Holder), textfmt.Abridge(r.Holder.Path, message.MaxNameShown)))
		}
	}
	if l.IsResource() {
		if !held {
			lines = append(lines, explainUnheld(l.Resources[0])...)
		}
		lines = append(lines, w.madeBy(l.Resources[0].Kind)...)
	}
	calls := w.callsBehind(l)
	if lines = append(lines, calls...); calls != nil && !l.IsResource() {
		lines = append(lines, "")
	}
	return lines
}

// maxMakers is how many calls that make a resource a message names.
const maxMakers = 3

// madeBy names the program's calls that made resources of a kind, as far as they are known.
func (w *Wording) madeBy(k ledger.Kind) []string {
	all, sought := w.Makers[k.String()]
	switch {
	case len(all) > 0:
	case sought && !w.RecordedAll:
		return []string{"which call makes them is not known: " + w.recordedCut()}
	default:
		return nil
	}
	var calls []string
	for _, c := range all[:min(len(all), maxMakers)] {
		calls = append(calls, w.callText(c.Call))
	}
	return []string{"made by " + strings.Join(calls, ", or ")}
}

// howMany says for which share of the resources the objects of the holder stand: "each", or "one of
// 2".
func howMany(r *finding.Resource) string {
	times := (r.Own.Grown() + r.Holder.Objects/2) / r.Holder.Objects // to the nearest
	if times < 2 {
		return "each"
	}
	return fmt.Sprintf("one of %d", times)
}

// resourcesOfPile are the resources that come with goroutines, a line each.
func resourcesOfPile(l *finding.Leak) []string {
	var lines []string
	with := "with each: "
	if l.Deepens {
		with = "with it: "
	}
	for _, r := range l.Resources {
		lines = append(lines, with+resourceRate(r))
	}
	return lines
}

// explainUnheld says that no Go object grows with a resource, and what that may mean.
func explainUnheld(r *finding.Resource) []string {
	switch r.Kind {
	case ledger.Process:
		return []string{"no Go object grows with them: Wait is not called for what was started"}
	case ledger.Descriptor:
		return []string{"no Go object grows with them: lost, unless a number in memory that does not grow stands for them"}
	case ledger.Mapping:
		return []string{"no Go object grows with it: mapped by a system call or by C, and not unmapped"}
	case ledger.Native, ledger.NativeBytes:
		return []string{"no Go object grows with them: lost, or held by C code"}
	case ledger.Thread:
		return []string{"no goroutines grow with them: threads of C, or of goroutines that ended locked to theirs"}
	case ledger.File:
		if r.Level == 0 && filepath.Dir(r.Name) != ledger.Pattern(filepath.Clean(os.TempDir())) {
			return []string{"they go with the test, as all in a folder of t.TempDir, and would stay in another folder: remove them"}
		}
		return []string{"they stay when the test ends: remove them, or make them in a folder of t.TempDir"}
	}
	return nil
}
