package allocrun

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/symbol"
)

// A Site is a line that allocates: the innermost one of the module under test on a stack.
type Site struct {
	Func    string `json:"func"`
	File    string `json:"file,omitempty"`
	Line    int64  `json:"line,omitempty"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Error   int64  `json:"error,omitempty"` // of Objects, as in TypeRow
	// By are functions of other modules that allocated for that line, the most objects first.
	By []*Callee `json:"by,omitempty"`
	// Types are the types that the line allocates, as far as the code tells, the most objects
	// first.
	Types []*SiteType `json:"types,omitempty"`
}

// A SiteType sums what is allocated of one type, as far as the code tells.
type SiteType struct {
	Name    string `json:"name"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// A Callee is a function that allocates for a line of another module.
type Callee struct {
	Func    string `json:"func"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// Stacks without a line of the module under test count for one of these.
const (
	initialization = "(initialisation of packages, before the tests)"
	elsewhere      = "(no function of the module on the stack: package testing, goroutines of other modules)"
)

// A place is a line.
type place struct {
	function, file string
	line           int64
}

// sitesOf sums an allocation profile by site, the most objects first.
func sitesOf(p *profile.Profile, own func(pkg string) bool) []*Site {
	of := make(map[place]*Site)
	callees := make(map[*Site]map[string]*Callee)
	types := make(map[*Site]*sums)
	var sites []*Site
	for _, s := range p.Sample {
		at, by := siteOf(s, own)
		site := of[at]
		if site == nil {
			site = &Site{Func: at.function, File: at.file, Line: at.line}
			of[at], callees[site], types[site] = site, make(map[string]*Callee), new(sums)
			sites = append(sites, site)
		}
		site.Objects += s.Value[0]
		site.Bytes += s.Value[1]
		if name := typeOf(s); name != unknownType {
			types[site].add(name, s)
		}
		if by == "" {
			continue
		}
		callee := callees[site][by]
		if callee == nil {
			callee = &Callee{Func: by}
			callees[site][by] = callee
			site.By = append(site.By, callee)
		}
		callee.Objects += s.Value[0]
		callee.Bytes += s.Value[1]
	}
	slices.SortFunc(sites, func(a, b *Site) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line))
	})
	for _, s := range sites {
		s.Types = types[s].list()
		slices.SortFunc(s.By, func(a, b *Callee) int {
			return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Func, b.Func))
		})
	}
	return sites
}

// siteOf returns the line that a stack counts for, and the function of another module that
// allocated for that line; "" if the line allocated itself.
func siteOf(s *profile.Sample, own func(pkg string) bool) (at place, by string) {
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			switch {
			case own(symbol.Package(name)):
				return place{name, line.Function.Filename, line.Line}, by
			case name == "runtime.doInit1":
				return place{function: initialization}, by
			case by == "" && !symbol.IsRuntime(symbol.Package(name)) && symbol.Package(name) != "internal/bytealg":
				by = name
			}
		}
	}
	return place{function: elsewhere}, by
}

// ownPackages returns a function that reports whether a package is the user's: in the main module,
// or the package under test.
func ownPackages(module, tested string) func(pkg string) bool {
	return func(pkg string) bool {
		pkg = strings.TrimSuffix(pkg, "_test")
		return pkg == tested || module != "" && (pkg == module || strings.HasPrefix(pkg, module+"/"))
	}
}
