package outcome

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A Finding is one thing that an assertion found wrong.
type Finding struct {
	Rule Rule `json:"rule"`
	// equal for the same leak in any build, Go version and line of source
	Fingerprint string `json:"fingerprint"`
	Text        string `json:"text"` // one line
	Selector    string `json:"selector,omitempty"`
	Path        string `json:"path,omitempty"` // from the root to where most of the memory is
	Type        string `json:"type,omitempty"` // of the objects at Path
	Objects     int64  `json:"objects,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
	// what is allowed; nil: not bounded, or not broken
	MaxObjects *int64 `json:"max_objects,omitempty"`
	MaxBytes   *int64 `json:"max_bytes,omitempty"`
	// where the root is declared, else where the assertion is
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Declared bool   `json:"declared,omitempty"` // File and Line are the root's
}

// Rule says what kind of thing is wrong.
type Rule string

// The rules.
const (
	RuleBound     Rule = "bound"     // a bound is broken
	RuleGrowth    Rule = "growth"    // memory grows with each call
	RuleResource  Rule = "resource"  // descriptors, threads, processes etc. grow, or are too many
	RuleCollected Rule = "collected" // an object that should be garbage is not
	RuleAllocs    Rule = "allocs"    // an operation allocates too much
	// more than a line of the golden file allows, or a path without a line
	RuleGolden        Rule = "golden"
	RuleMissingGolden Rule = "golden-missing" // there is no golden file
	RuleRetained      Rule = "retained"       // anything else that an assertion calls a failure
	RuleMisuse        Rule = "misuse"         // the assertion itself is wrong
	RuleUnknown       Rule = "unknown"        // could not tell
)

// rules are those of bounds that are broken; RuleBound for other kinds.
var rules = map[verdict.Kind]Rule{
	verdict.Resources: RuleResource, verdict.Growth: RuleGrowth, verdict.Allocs: RuleAllocs, verdict.Collected: RuleCollected,
}

// IsLeak reports whether memory was found that should not be there, or should not be allocated, as
// opposed to an assertion that is wrong or could not tell.
func (f *Finding) IsLeak() bool {
	return f.Rule == RuleBound || f.Rule == RuleGrowth || f.Rule == RuleResource || f.Rule == RuleAllocs || f.Rule == RuleCollected || f.Rule == RuleGolden
}

// Noun is the word for a finding in a list, if IsLeak is true.
func (f *Finding) Noun() string {
	if f.Rule == RuleAllocs {
		return "allocations"
	}
	return "leak"
}

// ShortFingerprint is the beginning of the fingerprint, for people.
func (f *Finding) ShortFingerprint() string { return f.Fingerprint[:min(len(f.Fingerprint), 12)] }

// findings returns the findings of the assertion a.
func (s Sources) findings(p *Package, a *Assertion) []Finding {
	var found []Finding
	add := func(rule Rule, b verdict.Bound) {
		f := Finding{
			Rule: rule, Selector: b.Selector, Path: b.Path, Type: b.Type,
			Objects: b.Objects, Bytes: b.Bytes, MaxObjects: b.MaxObjects, MaxBytes: b.MaxBytes,
		}
		f.Text = bound(b)
		kind := rule
		if rule == RuleCollected {
			kind = RuleBound // the rule is newer than fingerprints, which must not change
		}
		f.Fingerprint = fingerprint(string(kind), cmp.Or(b.Path, b.Selector), b.Type)
		if rule == RuleResource { // ports and names of temporary files differ from run to run
			f.Fingerprint = fingerprint(string(kind), digits.ReplaceAllString(cmp.Or(b.Path, b.Selector), "*"), b.Type)
		}
		if rule == RuleAllocs { // it has no path that tells it from others
			f.Fingerprint = fingerprint(string(rule), p.ImportPath, a.Test, b.Selector)
		}
		s.place(&f, p, a, b)
		found = append(found, f)
	}
	for _, b := range a.Bounds {
		if b.Verdict != verdict.Fail || a.Verdict != verdict.Fail {
			continue
		}
		add(cmp.Or(rules[b.Kind], RuleBound), b)
	}
	if a.Golden != nil && a.Verdict == verdict.Fail {
		for _, b := range a.Golden.Broken {
			add(RuleGolden, b)
		}
	}
	if len(found) > 0 || a.Verdict == verdict.Pass {
		return found
	}
	f := Finding{Rule: RuleRetained, Text: textfmt.FirstLine(a.Message)}
	switch {
	case a.Verdict == verdict.Unknown:
		f.Rule, f.Text = RuleUnknown, "could not tell: "+cmp.Or(a.Cause, "no cause given")
		if a.Remedy != "" {
			f.Text += "; " + a.Remedy
		}
	case a.Misuse:
		f.Rule = RuleMisuse
	case a.Golden != nil && a.Golden.Status == "missing":
		f.Rule = RuleMissingGolden
	}
	f.Fingerprint = fingerprint(string(f.Rule), p.ImportPath, a.Test, f.Selector)
	s.place(&f, p, a, verdict.Bound{})
	return append(found, f)
}

var digits = regexp.MustCompile(`[0-9]+`)

// bound says in one line how a bound is broken.
func bound(b verdict.Bound) string {
	noun := "object"
	switch {
	case b.Kind == verdict.Resources && b.Growth == "" && len(b.Resources) > 0:
		noun = b.Resources[0].Kind
	case b.Growth != "":
		return b.Selector + ": " + b.Growth
	case b.Kind == verdict.Collected:
		return strings.TrimSuffix(b.Selector+" is still reachable via "+b.Path, " via ")
	}
	var parts []string
	part := func(n int64, most *int64, noun, after string) {
		if n != 1 {
			noun += "s"
		}
		switch {
		case most == nil:
		case *most == 0:
			parts = append(parts, fmt.Sprintf("%s %s%s, none allowed", textfmt.Count(n), noun, after))
		default:
			parts = append(parts, fmt.Sprintf("%s %s%s, at most %s allowed", textfmt.Count(n), noun, after, textfmt.Count(*most)))
		}
	}
	part(b.Objects, b.MaxObjects, noun, "")
	part(b.Bytes, b.MaxBytes, "byte", "")
	part(b.RetainedObjects, b.MaxRetainedObjects, "object", " retained")
	part(b.RetainedBytes, b.MaxRetainedBytes, "byte", " retained")
	text := b.Selector + ": " + strings.Join(parts, "; ")
	if b.Path != "" && !strings.Contains(b.Selector, b.Path) {
		text += " (most at " + b.Path + ")"
	}
	return text
}

// numbering matches the numbers that the compiler gives to closures and wrappers. They change when
// other code of the function changes, and between Go versions.
var numbering = regexp.MustCompile(`\.(func|gowrap|deferwrap)\d+(\.\d+)*`)

// withoutShapes replaces the shape types of generic functions ("[go.shape.") by "[...]": which type
// arguments share code differs between Go versions.
func withoutShapes(name string) string {
	const shape = "[go.shape."
	for {
		start := strings.Index(name, shape)
		if start < 0 {
			return name
		}
		end, depth := start, 0
		for ; end < len(name); end++ {
			if name[end] == '[' {
				depth++
			} else if name[end] == ']' {
				if depth--; depth == 0 {
					end++
					break
				}
			}
		}
		name = name[:start] + "[...]" + name[end:]
	}
}

// fingerprint returns the fingerprint of a leak: a hash of parts that stay the same when the
// program is rebuilt, by another version of Go or with lines moved.
func fingerprint(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		part = withoutShapes(numbering.ReplaceAllString(part, ".$1"))
		hash.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
