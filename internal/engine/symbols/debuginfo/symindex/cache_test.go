package symindex

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

func TestCacheIsBounded(t *testing.T) {
	c, warning := OpenCache(t.TempDir())
	require.Empty(t, warning)
	c.limit = 2500
	now := time.Now()
	thousand := New(&Program{Warnings: []string{strings.Repeat("x", 700)}})
	var size bytes.Buffer
	require.NoError(t, thousand.WriteFile(&size))
	require.InDelta(t, 1000, size.Len(), 150)
	for i, name := range []string{"old", "older", "new"} {
		require.NoError(t, c.Store(name, thousand))
		used := now.Add(-[]time.Duration{2, 3, 1}[i] * time.Minute)
		_ = os.Chtimes(c.file(name), used, used)
	}
	orphan, held := filepath.Join(c.dir, "x"+wholefile.TemporaryMark+"1"), filepath.Join(c.dir, "x"+wholefile.TemporaryMark+"2")
	require.NoError(t, os.Mkdir(orphan, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(orphan, "twin.test"), nil, 0o666))
	owner, err := os.Create(held)
	require.NoError(t, err)
	defer owner.Close()
	require.True(t, wholefile.Claim(owner, held))
	require.NoError(t, c.Store("newest", thousand))
	for name, want := range map[string]bool{"older": false, "old": false, "new": true, "newest": true} {
		_, err := os.Stat(c.file(name))
		assert.Equal(t, want, err == nil, name)
	}
	assert.NoDirExists(t, orphan)
	assert.FileExists(t, held)
}

func TestCacheLock(t *testing.T) {
	c, warning := OpenCache(t.TempDir())
	require.Empty(t, warning)
	unlock, err := c.Lock(t.Context(), time.Hour)
	require.NoError(t, err)
	_, err = c.Lock(t.Context(), 50*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = c.Lock(ctx, time.Hour)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	unlock, err = c.Lock(t.Context(), time.Hour)
	require.NoError(t, err)
	unlock()
}
