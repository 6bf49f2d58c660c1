package dump

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// typeBuildID is NT_GNU_BUILD_ID.
const typeBuildID = 3

// BuildIDOf returns the build ID in a list of notes, in hexadecimal; "" if there is none.
func BuildIDOf(notes []byte, order binary.ByteOrder) string {
	for n := range objfile.Notes(notes, order) {
		if n.Kind == typeBuildID && n.Name == "GNU" {
			return hex.EncodeToString(n.Data)
		}
	}
	return ""
}
