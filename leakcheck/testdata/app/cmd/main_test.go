package main

import (
	"errors"
	"strings"
	"testing"

	"example.com/app/cmd/go-cache"
	"example.com/app/cmd/lib/v2"
	"example.com/app/cmd/yaml.v3"
	"github.com/leakgate/leakgate/leakcheck"
)

// Types tell the names of their packages before debug information has been read.
func TestNamesBeforeSnapshots(t *testing.T) {
	for want, option := range map[string]leakcheck.Option{
		"Type[[]*cache.Item]().MaxObjects(-1)": leakcheck.Type[[]*cache.Item]().MaxObjects(-1),
		"Type[lib.Item]().MaxObjects(-1)":      leakcheck.Type[lib.Item]().MaxObjects(-1),
		"Type[*yaml.Item]().MaxObjects(-1)":    leakcheck.Type[*yaml.Item]().MaxObjects(-1),
	} {
		if err := leakcheck.Find(option); err == nil || !strings.Contains(err.Error(), want+": a bound cannot be negative") {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

func TestKeep(t *testing.T) {
	keep()
	leakcheck.AssertRetained(t, leakcheck.Root("cmd.kept").MaxObjects(2))
}

// A package goes by its name, too, where that is not the last element of its import path.
func TestPackageNames(t *testing.T) {
	keep()
	cache.Keep(3)
	lib.Keep(4)
	yaml.Keep(5)
	stop := make(chan struct{})
	defer close(stop)
	go cache.Serve(stop)
	for _, option := range []leakcheck.Option{
		leakcheck.Root("main.kept").None(),
		leakcheck.Root("cache.items").MaxObjects(3),
		leakcheck.Root("cach*.items").MaxObjects(3),
		leakcheck.Path("lib.items[*]").MaxObjects(3),
		leakcheck.Root("v2.items").None(),
		leakcheck.Root("yaml.items").MaxObjects(5),
		leakcheck.TypeNamed("cache.Item").MaxObjects(2),
		leakcheck.TypeNamed("yaml.Item").MaxObjects(4),
		leakcheck.TypeNamed("v2.Item").MaxObjects(3),
		leakcheck.Goroutines("cache.Serve").None(),
	} {
		if err := leakcheck.Find(option); !errors.As(err, new(*leakcheck.FoundError)) {
			t.Errorf("%v: %v", option, err)
		}
	}
	leakcheck.AssertRetained(t,
		leakcheck.Root("cache.items").MaxObjects(4), leakcheck.Path("lib.items[*]").MaxObjects(4),
		leakcheck.TypeNamed("yaml.Item").MaxObjects(5), leakcheck.Goroutines("cache.Serve").Max(1), leakcheck.Ignore("cache.items", "it may"),
	)
	for message, option := range map[string]leakcheck.Option{
		"Type[*cache.Item]().MaxObjects(2)": leakcheck.Type[*cache.Item]().MaxObjects(2),
		"Type[lib.Item]().MaxObjects(3)":    leakcheck.Type[lib.Item]().MaxObjects(3),
		"Type[*yaml.Item]().MaxObjects(4)":  leakcheck.Type[*yaml.Item]().MaxObjects(4),
	} {
		err := leakcheck.Find(option)
		found := new(leakcheck.FoundError)
		if !errors.As(err, &found) {
			t.Errorf("%s: %v", message, err)
			continue
		}
		typ := strings.TrimLeft(message[len("Type["):strings.IndexByte(message, ']')], "*")
		if text := err.Error(); !strings.Contains(text, message+"\n") || !strings.Contains(text, "*"+typ+"\n") {
			t.Errorf("no %s, or no %s, in:\n%s", message, typ, text)
		}
		// records are compared with older ones
		if old := found.Findings[0].Selector; !strings.Contains(old, "go-cache.Item") && !strings.Contains(old, "v2.Item") && !strings.Contains(old, "yaml.v3.Item") {
			t.Errorf("%s is recorded as %s", message, old)
		}
	}
	if err := leakcheck.Find(leakcheck.Root("cache.itms").None()); err == nil || !strings.Contains(err.Error(), "did you mean example.com/app/cmd/go-cache.items?") {
		t.Errorf("a name that does not exist: %v", err)
	}
	leakcheck.AssertRetained(t, leakcheck.Scope("example.com/app/cmd/..."), leakcheck.TypeNamed("lib.Item").MaxObjects(4))
	leakcheck.AssertRetained(t, leakcheck.Scope("lib"), leakcheck.TypeNamed("lib.Item").MaxObjects(4), leakcheck.TypeNamed("yaml.Item").None())
	if err := leakcheck.Find(leakcheck.Scope("lib"), leakcheck.TypeNamed("lib.Item").None()); !errors.As(err, new(*leakcheck.FoundError)) {
		t.Errorf("a scope by the package's name: %v", err)
	}
	if err := leakcheck.Find(leakcheck.Scope("yalm.v3"), leakcheck.TypeNamed("lib.Item").None()); err == nil || !strings.Contains(err.Error(), "no such package; did you mean example.com/app/cmd/yaml.v3?") {
		t.Errorf("a package that does not exist: %v", err)
	}
	if err := leakcheck.Find(leakcheck.Path("lib.items[*].buff").None()); err == nil || !strings.Contains(err.Error(), "lib.items[*] has no field buff; did you mean lib.items[*].buf?") {
		t.Errorf("a field that does not exist: %v", err)
	}
}
