package leakcheck

import "testing"

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
	}
	for _, tt := range tests {
		p, err := compilePathPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.matchWhole(tt.name); got != tt.whole {
			t.Errorf("%q matchWhole(%q) = %v", tt.pattern, tt.name, got)
		}
		if got := p.matchPrefix(tt.name); got != tt.prefix {
			t.Errorf("%q matchPrefix(%q) = %v", tt.pattern, tt.name, got)
		}
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
		p, err := compilePathPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.matchBelow(tt.name); got != tt.want {
			t.Errorf("%q matchBelow(%q) = %v", tt.pattern, tt.name, got)
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
		ps, err := compileScope(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := ps.include(tt.pkg); got != tt.want {
			t.Errorf("Scope(%q) includes %q = %v", tt.pattern, tt.pkg, got)
		}
	}
}

func TestPackageOf(t *testing.T) {
	for name, want := range map[string]string{
		"example.com/app.sessions":                   "example.com/app",
		"example.com/app.(*pool).run":                "example.com/app",
		"example.com/app.Serve[other.org/x.T].func1": "example.com/app",
		"main.main":                "main",
		"gopkg.in/yaml%2ev3.cache": "gopkg.in/yaml.v3",
		"":                         "",
	} {
		if got := packageOf(name); got != want {
			t.Errorf("packageOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("app.*[*].buf", "example.com/app.srv[*].buf")
	f.Add("**...(*x)", "a/b(*x)")
	f.Add("[", "]")
	f.Fuzz(func(t *testing.T, text, name string) {
		p, err := compilePathPattern(text)
		if err != nil {
			return
		}
		if p.matchWhole(name) && !p.matchPrefix(name) {
			t.Errorf("%q is all of %q but no prefix", text, name)
		}
		if p.matchWhole(name) && !p.matchBelow(name) {
			t.Errorf("%q is all of %q but not below", text, name)
		}
		if p.plain && !p.matchWhole(p.text) {
			t.Errorf("%q does not match itself", text)
		}
	})
}
