package outcome

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
)

// A Finding is one thing that an assertion found wrong.
type Finding struct {
	Rule        Rule   `json:"rule"`
	Fingerprint string `json:"fingerprint"` // equal for the same leak in any build, Go version and line of source
	Text        string `json:"text"`        // one line
	Selector    string `json:"selector,omitempty"`
	Path        string `json:"path,omitempty"` // from the root to where most of it is
	Type        string `json:"type,omitempty"` // of what lies there
	Objects     int64  `json:"objects,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
	MaxObjects  *int64 `json:"max_objects,omitempty"` // what is allowed; nil: not bounded, or not broken
	MaxBytes    *int64 `json:"max_bytes,omitempty"`
	File        string `json:"file,omitempty"` // where the root is declared, else where the assertion is
	Line        int    `json:"line,omitempty"`
	Declared    bool   `json:"declared,omitempty"` // File and Line are the root's
}

// Rule says what kind of thing is wrong.
type Rule string

// The rules.
const (
	RuleBound         Rule = "bound"          // a bound is broken
	RuleGrowth        Rule = "growth"         // memory grows with each call
	RuleGolden        Rule = "golden"         // more than a line of the golden file allows, or a path without a line
	RuleMissingGolden Rule = "golden-missing" // there is no golden file
	RuleRetained      Rule = "retained"       // anything else that an assertion calls a failure
	RuleMisuse        Rule = "misuse"         // the assertion itself is wrong
	RuleUnknown       Rule = "unknown"        // could not tell
)

// IsLeak reports whether memory was found that should not be there, as opposed to an assertion that is wrong or could not tell.
func (f *Finding) IsLeak() bool {
	return f.Rule == RuleBound || f.Rule == RuleGrowth || f.Rule == RuleGolden
}

// ShortFingerprint is the beginning of the fingerprint, for people.
func (f *Finding) ShortFingerprint() string { return f.Fingerprint[:min(len(f.Fingerprint), 12)] }

// Sources finds source files.
type Sources struct {
	Dirs   map[string]string      // folders of packages by import path, relative to the root of the repository
	Exists func(file string) bool // whether there is such a file below that root; nil: none is
}

// findings returns what a found wrong.
func (s Sources) findings(p *Package, a *Assertion) []Finding {
	var found []Finding
	add := func(rule Rule, b verdict.Bound) {
		f := Finding{
			Rule: rule, Selector: b.Selector, Path: b.Path, Type: b.Type,
			Objects: b.Objects, Bytes: b.Bytes, MaxObjects: b.MaxObjects, MaxBytes: b.MaxBytes,
		}
		f.Text = bound(b)
		f.Fingerprint = fingerprint(string(rule), cmp.Or(b.Path, b.Selector), b.Type)
		s.place(&f, p, a, b)
		found = append(found, f)
	}
	for _, b := range a.Bounds {
		if b.Verdict != verdict.Fail || a.Verdict != verdict.Fail {
			continue
		}
		rule := RuleBound
		if strings.HasPrefix(b.Selector, "AssertNoGrowth") {
			rule = RuleGrowth
		}
		add(rule, b)
	}
	if a.Golden != nil && a.Verdict == verdict.Fail {
		for _, b := range a.Golden.Broken {
			add(RuleGolden, b)
		}
	}
	if len(found) > 0 || a.Verdict == verdict.Pass {
		return found
	}
	f := Finding{Rule: RuleRetained, Text: firstLine(a.Message)}
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

// place sets where f is: where the root of b is declared, if that is in the repository, else where a is.
func (s Sources) place(f *Finding, p *Package, a *Assertion, b verdict.Bound) {
	if file := s.file(p, b.File); file != "" {
		f.File, f.Line, f.Declared = file, b.Line, true
		return
	}
	if file := s.file(p, a.File); file != "" {
		f.File, f.Line = file, a.Line
	}
}

// file returns a file that a record names, relative to the root of the repository; "" if it is not there.
func (s Sources) file(p *Package, name string) string {
	if name == "" || s.Exists == nil {
		return ""
	}
	file := path.Join(p.Dir, name)
	if path.IsAbs(name) || file == ".." || strings.HasPrefix(file, "../") || !s.Exists(file) {
		return ""
	}
	return file
}

// bound says in one line what is wrong with a bound.
func bound(b verdict.Bound) string {
	text := b.Selector + ": "
	var parts []string
	part := func(n int64, most *int64, unit string) {
		switch {
		case most == nil:
		case *most == 0:
			parts = append(parts, fmt.Sprintf("%d %s, none allowed", n, unit))
		default:
			parts = append(parts, fmt.Sprintf("%d %s, at most %d allowed", n, unit, *most))
		}
	}
	part(b.Objects, b.MaxObjects, "objects")
	part(b.Bytes, b.MaxBytes, "bytes")
	part(b.RetainedObjects, b.MaxRetainedObjects, "objects retained")
	part(b.RetainedBytes, b.MaxRetainedBytes, "bytes retained")
	text += strings.Join(parts, "; ")
	if b.Path != "" && !strings.Contains(b.Selector, b.Path) {
		text += " (most at " + b.Path + ")"
	}
	return text
}

// numbering is what compilers number: closures and wrappers. The numbers change when other code of the
// function does, and between Go versions.
var numbering = regexp.MustCompile(`\.(func|gowrap|deferwrap)\d+(\.\d+)*`)

// withoutShapes writes "[...]" for type arguments that a generic function shares its code for: which do differs
// between Go versions.
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

// fingerprint names a leak. It is made of what stays the same when the program is built anew, by another
// version of Go or with lines moved about.
func fingerprint(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		part = withoutShapes(numbering.ReplaceAllString(part, ".$1"))
		hash.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
