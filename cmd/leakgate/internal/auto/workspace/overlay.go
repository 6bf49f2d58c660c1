package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// An overlayFile is the file that -overlay names.
type overlayFile struct{ Replace map[string]string }

// flags returns build flags without those that a workspace refuses or that this package sets
// itself, and the overlay with the files that they name: those of the user's own, and of -modfile.
func (w *Workspace) flags(args []string, overlay map[string]string) (rest []string, all map[string]string, err error) {
	all = make(map[string]string)
	maps.Copy(all, overlay)
	maps.Copy(all, w.overlay)
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") || name != "modfile" && name != "overlay" {
			rest = append(rest, args[i])
			continue
		}
		if i++; hasValue {
			i--
		} else if i < len(args) {
			value = args[i]
		}
		if name == "modfile" {
			continue // in w.overlay
		}
		var users overlayFile
		data, err := os.ReadFile(value)
		if err == nil {
			err = json.Unmarshal(data, &users)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("-overlay: %w", err)
		}
		for from, to := range users.Replace {
			if from, err = filepath.Abs(from); err == nil && to != "" {
				to, err = filepath.Abs(to)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("-overlay: %w", err)
			}
			all[from] = to
		}
	}
	return rest, all, nil
}

// writeOverlay writes an overlay into a folder, and returns the flag for it.
func writeOverlay(dir string, overlay map[string]string) (flag string, err error) {
	text, err := json.Marshal(overlayFile{overlay})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return "-overlay=" + name, os.WriteFile(name, text, 0o666)
}
