package naming

import (
	"reflect"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
)

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		whole, prefix bool
	}{
		{"example.com/app.sessions", "example.com/app.sessions", true, true},
		{"app.sessions", "example.com/app.sessions", true, true},
		{"pp.sessions", "example.com/app.sessions", false, false},
		{"app.session", "example.com/app.sessions", false, false},
		{"app.srv", "example.com/app.srv.conns[*]", false, true},
		{"app.srv.conns", "example.com/app.srv.conns[*].buf", false, true},
		{"app.srv.conns[*]", "example.com/app.srv.conns[*].buf", false, true},
		{"app.srv.conns[3].buf", "example.com/app.srv.conns[*].buf", true, true},
		{"app.srv.conns[*].buf", "example.com/app.srv.conns[$key].buf", false, false},
		{"app.srv.con", "example.com/app.srv.conns", false, false},
		{"app.*", "example.com/app.srv.conns", true, true},
		{"app.*.buf", "example.com/app.srv.conns[*].buf", true, true},
		{"app.s*", "example.com/app.cache", false, false},
		{"example.com/*.srv", "example.com/a/b.srv", false, false},
		{"example.com/**.srv", "example.com/a/b.srv", true, true},
		{"example.com/....srv", "example.com/a/b.srv", true, true},
		{"*.srv", "example.com/a/b.srv", true, true},
		{"app.(*pool).run", "example.com/app.(*pool).run.p", false, true},
		{"app.(*pool).run", "example.com/app.(xpool).run", false, false},
		{"app.Serve[...].func1", "example.com/app.Serve[go.shape.int].func1", true, true},
		{"x.T].buf", "example.com/app.Serve[other.org/x.T].buf", false, false},
		{"gopkg.in/yaml.v3.cache", "gopkg.in/yaml.v3.cache", true, true},
		{"yaml.v3.cache", "gopkg.in/yaml.v3.cache", true, true},
		{"**", "anything/at.all[*]", true, true},
		{"timer(context.WithTimeout)", "timer(context.WithTimeout)", true, true},
		{"timer(context.WithTimeout)", "timer(context.WithTimeout).$fn", false, true},
		{"timer(...)", "timer(context.WithTimeout)", true, true},
		{"timer(*)", "timer(time.After)", true, true},
		{"timer(app.(*Session).expire)", "timer(example.com/app.(*Session).expire)", true, true},
		{"timer(app.(*Session).expire)", "timer(example.com/xapp.(*Session).expire)", false, false},
		{"timer(app.**", "timer(example.com/app.(*Session).expire).$fn", true, true},
		{"finalizer(*app.Session)", "finalizer(*example.com/app.Session)", true, true},
		{"finalizer(app.Session)", "finalizer(*example.com/app.Session)", true, true},
		{"finalizer(*app.*).other", "finalizer(*example.com/app.Session).other[*]", false, true},
		{"cleanup(*app.Session)", "finalizer(*example.com/app.Session)", false, false},
	}
	for _, tt := range tests {
		p, err := CompilePathPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MatchWhole(tt.name); got != tt.whole {
			t.Errorf("%q matchWhole(%q) = %v", tt.pattern, tt.name, got)
		}
		if got := p.MatchPrefix(tt.name); got != tt.prefix {
			t.Errorf("%q matchPrefix(%q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// If the last element of a package's import path is not the package's name, patterns may use
// either.
func TestPatternByPackageName(t *testing.T) {
	defer forgetPackages()
	LearnPackageNames(map[string]string{
		"github.com/patrickmn/go-cache": "cache", "example.com/lib/v2": "lib", "gopkg.in/yaml.v3": "yaml", "example.com/cmd/tool": "main",
	})
	tests := []struct {
		pattern, name string
		whole, prefix bool
	}{
		{"cache.x", "github.com/patrickmn/go-cache.x", true, true},
		{"go-cache.x", "github.com/patrickmn/go-cache.x", true, true},
		{"cache.*", "github.com/patrickmn/go-cache.x", true, true},
		{"cache.x", "github.com/patrickmn/go-cache.x[*].buf", false, true},
		{"cache.x", "github.com/other/my-cache.x", false, false},
		{"cache.x", "github.com/patrickmn/go-cache/sub.x", false, false},
		{"patrickmn/cache.x", "github.com/patrickmn/go-cache.x", false, false},
		{"cache.(*janitor).Run", "github.com/patrickmn/go-cache.(*janitor).Run", true, true},
		{"cache.New.func1", "github.com/patrickmn/go-cache.New.func1", true, true},
		{"timer(cache.(*Cache).expire)", "timer(github.com/patrickmn/go-cache.(*Cache).expire)", true, true},
		{"finalizer(cache.Cache)", "finalizer(*github.com/patrickmn/go-cache.Cache)", true, true},
		{"lib.x", "example.com/lib/v2.x", true, true},
		{"v2.x", "example.com/lib/v2.x", true, true},
		{"lib/v2.x", "example.com/lib/v2.x", true, true},
		{"yaml.cache", "gopkg.in/yaml.v3.cache", true, true},
		{"yaml.v3.cache", "gopkg.in/yaml.v3.cache", true, true},
		{"yaml.cache", "gopkg.in/yaml.v3.cache.entries", false, true},
		{"main.x", "example.com/cmd/tool.x", true, true},
		{"main.x", "main.x", true, true},
		{"x", "example.com/cmd/tool.x", false, false},
	}
	for _, tt := range tests {
		p, err := CompilePathPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MatchWhole(tt.name); got != tt.whole {
			t.Errorf("%q matchWhole(%q) = %v", tt.pattern, tt.name, got)
		}
		if got := p.MatchPrefix(tt.name); got != tt.prefix {
			t.Errorf("%q matchPrefix(%q) = %v", tt.pattern, tt.name, got)
		}
	}
	p, err := CompilePathPattern("cache.x")
	if err != nil {
		t.Fatal(err)
	}
	if p.Anchored = true; p.MatchWhole("github.com/patrickmn/go-cache.x") {
		t.Error("a path that is given in full is shortened")
	}
	for text, want := range map[string]bool{
		"cache.Item": true, "go-cache.Item": true, "cache.I*": true, "other.Item": false,
	} {
		m, err := MatchTypeNamed(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Matches("*github.com/patrickmn/go-cache.Item"); got != want {
			t.Errorf("TypeNamed(%q) means it: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"cache": true, "go-cache": true, "cache/...": true, "cach*": true, "github.com/patrickmn/go-cache": true, "patrickmn/cache": false, "ache": false,
	} {
		ps, err := CompileScope(text)
		if err != nil {
			t.Fatal(err)
		}
		if ps.Include("github.com/patrickmn/go-cache") != want || ps.Include("github.com/patrickmn/go-cache_test") != want {
			t.Errorf("Scope(%q) includes it: %v", text, !want)
		}
		for i := range ps {
			ps[i].Anchored = true
		}
		if text == "cache" && ps.Include("github.com/patrickmn/go-cache") {
			t.Error("a scope that is given in full goes by the package's name")
		}
	}
	for name, want := range map[string]string{
		"gopkg.in/yaml.v3.cache": "gopkg.in/yaml.v3", "*gopkg.in/yaml.v3.Node": "gopkg.in/yaml.v3", "gopkg.in/yaml.v3.(*Node).Decode.n": "gopkg.in/yaml.v3",
		"example.com/app.x": "example.com/app", "**example.com/app.T": "example.com/app", "int": "",
	} {
		if got := symbol.Package(name); got != want {
			t.Errorf("the package of %s is %s", name, got)
		}
	}
	if m, err := MatchTypeNamed("map[yaml.Kind]*cache.Item"); err != nil || !m.Matches("map[gopkg.in/yaml.v3.Kind]*github.com/patrickmn/go-cache.Item") {
		t.Error("packages within a type do not go by their names", err)
	}
	if got := Suggest("cache.itms", []string{"github.com/patrickmn/go-cache.items", "github.com/patrickmn/go-cache.janitors"}); len(got) != 1 || got[0] != "github.com/patrickmn/go-cache.items" {
		t.Error(got)
	}
}

// Only the star of the reference is dropped: a pointer that lies on the heap is no object of the
// type that it points to, however the type is named.
func TestPointersToPointers(t *testing.T) {
	defer forgetPackages()
	LearnPackageNames(map[string]string{"example.com/app/v2": "app"})
	for _, text := range []string{"example.com/app/v2.T", "app/v2.T", "v2.T", "app.T", "*app.T", "app.*", "*.T", "*/app/v2.T"} {
		m, err := MatchTypeNamed(text)
		if err != nil {
			t.Fatal(err)
		}
		for reference, want := range map[string]bool{
			"example.com/app/v2.T": true, "*example.com/app/v2.T": true, "**example.com/app/v2.T": false, "***example.com/app/v2.T": false,
		} {
			if got := m.Matches(reference); got != want {
				t.Errorf("TypeNamed(%q) is for %s: %v", text, reference, got)
			}
		}
	}
	if m, err := MatchTypeNamed("**app.T"); err != nil || !m.Matches("**example.com/app/v2.T") {
		t.Error("a pattern for any text is not for stars", err)
	}
}

func TestPatternBelow(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"app.srv.conns[*]", "example.com/app.srv", true},
		{"app.srv", "example.com/app.srv", true},
		{"app.srvs.conns", "example.com/app.srv", false},
		{"app.s*.conns", "example.com/app.srv", true},
		{"app.s*[*]", "example.com/app.srv", true},
		{"app.cache", "example.com/app.srv", false},
		{"app.?rv", "example.com/app.srv", false},
	}
	for _, tt := range tests {
		p, err := CompilePathPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MatchBelow(tt.name); got != tt.want {
			t.Errorf("%q matchBelow(%q) = %v", tt.pattern, tt.name, got)
		}
	}
}

func TestPatternBelowRoot(t *testing.T) {
	defer forgetPackages()
	LearnPackageNames(map[string]string{"example.com/app": "shop"})
	for _, tt := range []struct{ pattern, name, path string }{
		{"app.srv.conns[*].buf", "app.srv", ".conns[*].buf"},
		{"example.com/app.srv.conns", "example.com/app.srv", ".conns"},
		{"shop.srv.conns[3]", "shop.srv", ".conns[*]"},
		{"app.srv", "", ""},
		{"app.srv.conns[*].*", "app.srv", ".conns[*]"},
		{"app.srv.conns[*].b*", "app.srv", ".conns[*]"},
		{"app.srv.conns**", "", ""},
		{"app.srv.*.buf", "", ""},
		{"app.srv.conns...", "", ""},
		{"app.s*.conns", "", ""},
		{"**.srv.conns", "", ""},
		{"app.server.conns", "", ""},
	} {
		p, err := CompilePathPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if name, path := p.Below("example.com/app.srv"); name != tt.name || path != tt.path {
			t.Errorf("%q: %q, %q", tt.pattern, name, path)
		}
	}
}

func TestScopePackages(t *testing.T) {
	tests := []struct {
		pattern, pkg string
		want         bool
	}{
		{"example.com/app", "example.com/app", true},
		{"example.com/app", "example.com/app_test", true},
		{"example.com/app", "example.com/app/store", false},
		{"example.com/app/...", "example.com/app", true},
		{"example.com/app/...", "example.com/app_test", true},
		{"example.com/app/...", "example.com/app/store", true},
		{"example.com/app/...", "example.com/apple", false},
		{"app/...", "example.com/app/store", true},
		{"example.com/*/store", "example.com/app/store", true},
		{"example.com/*/store", "example.com/a/b/store", false},
		{"...", "", true},
	}
	for _, tt := range tests {
		ps, err := CompileScope(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := ps.Include(tt.pkg); got != tt.want {
			t.Errorf("Scope(%q) includes %q = %v", tt.pattern, tt.pkg, got)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("app.*[*].buf", "example.com/app.srv[*].buf")
	f.Add("**...(*x)", "a/b(*x)")
	f.Add("[", "]")
	f.Fuzz(func(t *testing.T, text, name string) {
		p, err := CompilePathPattern(text)
		if err != nil {
			return
		}
		if p.MatchWhole(name) && !p.MatchPrefix(name) {
			t.Errorf("%q is all of %q but no prefix", text, name)
		}
		if p.MatchWhole(name) && !p.MatchBelow(name) {
			t.Errorf("%q is all of %q but not below", text, name)
		}
		if p.plain && !p.MatchWhole(p.Text) {
			t.Errorf("%q does not match itself", text)
		}
	})
}

func forgetPackages() {
	packageNames.Clear()
	othersEnd.Store(false)
}

// Messages have the names of packages: as debug information has them, as types of the program tell
// them, or what is left of the import path without a version.
func TestShortName(t *testing.T) {
	forgetPackages()
	defer forgetPackages()
	long := "map[github.com/patrickmn/go-cache.K]*example.com/lib/v2.T[example.com/lib/v2_test.U,k8s.io/api/autoscaling/v2.V]"
	check := func(name, want string) {
		t.Helper()
		if got := ShortName(name); got != want {
			t.Errorf("ShortName(%s) = %s, want %s", name, got, want)
		}
	}
	check(long, "map[go-cache.K]*lib.T[lib_test.U,autoscaling.V]")
	if got := LastElements(long); got != "map[go-cache.K]*v2.T[v2_test.U,v2.V]" {
		t.Error(got)
	}
	packageNames.Store("github.com/patrickmn/go-cache", "cache") // as LearnType does
	check(long, "map[cache.K]*lib.T[lib_test.U,autoscaling.V]")

	LearnPackageNames(map[string]string{"example.com/lib/v2": "lib", "example.com/lib/v2_test": "lib_test"})
	check(long, "map[cache.K]*lib.T[lib_test.U,v2.V]")
	check("github.com/patrickmn/go-cache.(*Cache).Get", "cache.(*Cache).Get")
	check("map[string]int", "map[string]int")

	LearnType(reflect.TypeFor[[]*Pattern]())
	LearnType(reflect.TypeFor[map[string]int]())
	LearnType(reflect.TypeFor[map[testing.TB][2]chan func(strings.Builder)]())
	if name, _ := packageNames.Load("testing"); name != "testing" {
		t.Error(name)
	}
	if name, _ := packageNames.Load("github.com/leakgate/leakgate/leakcheck/internal/naming"); name != "naming" {
		t.Error(name)
	}
}
