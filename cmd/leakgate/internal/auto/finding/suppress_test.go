package finding

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"example.com/app.sessions", "example.com/app.sessions", true},
		{"example.com/app.sessions", "example.com/app.sessions[*].user", true},
		{"example.com/app.sessions", "example.com/app.sessionsOfAll", false},
		{"app.sessions", "example.com/app.sessions", true},
		{"app.sessions", "example.com/myapp.sessions", false},
		{"app.(*Pool).run", "example.com/app.(*Pool).run", true},
		{"app.(*Pool).run", "example.com/app.(*Pool).run.func1", true},
		{"app.*", "example.com/app.x", true},
		{"example.com/*.x", "example.com/a/b.x", false},
		{"example.com/....x", "example.com/a/b.x", true},
		{"app.m[*]", "example.com/app.m[*].x", true},
		{"app.m[*]", "example.com/app.mx", false},
	} {
		l, err := parseSuppressions(tt.pattern + "\ta reason")
		require.NoError(t, err)
		reason, ok := l.Match(tt.name)
		require.Equal(t, tt.want, ok, "%s of %s", tt.pattern, tt.name)
		if ok {
			require.Equal(t, "a reason", reason)
			require.Empty(t, l.Stale())
		} else {
			require.Equal(t, []string{SuppressionsFile + ":1: " + tt.pattern}, l.Stale())
		}
	}
}

func TestParse(t *testing.T) {
	l, err := parseSuppressions("# what tests fill\n\n  a.b  registry of handlers \n")
	require.NoError(t, err)
	reason, ok := l.Match("x", "a.b")
	require.True(t, ok)
	require.Equal(t, "registry of handlers", reason)
	_, err = parseSuppressions("\na.b\n")
	require.EqualError(t, err, "leakgate.ignore:2: a.b has no reason: write why after the pattern")
	l, err = LoadSuppressions(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, l.Stale())
}
