package assertion

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// A golden file has the name of the test, and a number from the second comparison on. A run of the
// test begins again with the first.
func TestGoldenFile(t *testing.T) {
	ft := &fakeT{name: "TestX/a b"}
	name := func(t environ.TestingT, test, given, variant string) string {
		file, err := GoldenFile(t, test, given, variant)
		if err != nil {
			return err.Error()
		}
		return file
	}
	for range 2 {
		assert.Equal(t, "TestX/a_b.golden", name(ft, ft.name, "", ""))
		assert.Equal(t, "TestX/a_b~2.golden", name(ft, ft.name, "", ""))
		assert.Equal(t, "TestX/a_b~go1.26.golden", name(ft, ft.name, "", "~go1.26"))
		assert.Equal(t, "TestX/a_b~3.golden", name(ft, ft.name, "", ""))
		assert.Equal(t, "TestX/a_b~go1.26~2.golden", name(ft, ft.name, "", "~go1.26"))
		assert.Equal(t, "given.golden", name(ft, ft.name, "given", ""))
		assert.Equal(t, "given.golden", name(ft, ft.name, "given", "~go1.26"))
		ft.end()
	}
	type mute struct{ environ.TestingT } // without Cleanup
	for range 2 {
		assert.Equal(t, "TestX.golden", name(mute{}, "TestX", "", ""))
	}
	assert.Equal(t, "the test has no name to call its golden file after; give one with Golden", name(mute{}, "", "", ""))
	assert.Equal(t, "%2E%2E/x.golden", name(ft, ft.name, "../x", ""), "it does not lead out of the folder")
}

// A golden file needs a name, a bound none.
func TestNamelessTest(t *testing.T) {
	w := newWorld(t, sessions(1))
	ft := &fakeT{}
	assert.False(t, w.AssertRetained(ft, environ.Site{}, requestOf()))
	assert.Equal(t, "leakcheck: the test has no name to call its golden file after; give one with Golden", ft.errorText())
	assert.Empty(t, w.asked)
	assert.True(t, w.AssertRetained(&fakeT{}, environ.Site{}, requestOf(atMost(9, "app.sessions"))))
	assert.True(t, w.AssertRetained(&fakeT{}, environ.Site{}, requestOf(named("x"))))
	assert.Contains(t, w.golden("x.golden"), "example.com/app.sessions")
}
