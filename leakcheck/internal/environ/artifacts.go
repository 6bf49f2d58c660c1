package environ

import "path/filepath"

// KeepsFiles reports whether an assertion of this process may leave profiles.
func (e *Environment) KeepsFiles() bool {
	return e.Artifacts != "" || e.Undeclared != "" || KeepsArtifacts()
}

// KeepsArtifacts reports whether "go test -artifacts" was given; without it, the test's folder is
// removed at its end.
func KeepsArtifacts() bool {
	return flagText("test.artifacts") == "true"
}

// LocalPath returns an import path, which serves as a relative file path as it is, or "unnamed" if
// it would lead out of the folder.
func LocalPath(importPath string) string {
	if !filepath.IsLocal(filepath.FromSlash(importPath)) {
		return "unnamed"
	}
	return importPath
}
