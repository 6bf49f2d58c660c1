package goldenset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/golden"
)

func write(t *testing.T, file, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	return file
}

func entry(objects string) string {
	return "leakgate golden v1\n" + objects + " 8 app.x T\n"
}

func TestChangesOfARun(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, Below, "TestA", "sub.golden"), entry("1"))
	write(t, filepath.Join(dir, Below, "broken.golden"), "no golden file")
	s, err := ReadSet([]string{dir, filepath.Join(dir, "without")})
	require.NoError(t, err)
	require.Len(t, s, 1)
	write(t, file, entry("3"))
	changes, err := s.Changes(file)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Equal(t, golden.Widened, changes[0].Kind)
	changes, err = s.Changes(write(t, filepath.Join(dir, Below, "new.golden"), entry("3")))
	require.NoError(t, err)
	require.Equal(t, golden.Added, changes[0].Kind)
	_, err = s.Changes(filepath.Join(dir, "none.golden"))
	require.Error(t, err)
}

func TestCalibrateWritesFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, Below, "TestA.golden")
	m := make(Measured)
	for i, objects := range []string{"4", "2"} {
		require.NoError(t, m.Add(file, write(t, filepath.Join(dir, "runs", string(rune('a'+i))), entry(objects))))
	}
	require.Error(t, m.Add(file, filepath.Join(dir, "none")))
	done, err := m.Calibrate()
	require.NoError(t, err)
	require.Len(t, done, 1)
	require.True(t, done[0].Created)
	require.Equal(t, 2, done[0].Runs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "      <=4             8  app.x ")
	require.Contains(t, string(text), "# seen 2..4 objects, 8..8 bytes in 2 runs")

	done, err = m.Calibrate()
	require.NoError(t, err)
	require.Empty(t, done[0].Changes)
	write(t, file, "no golden file")
	_, err = m.Calibrate()
	require.Error(t, err)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "no golden file", string(text))
}
