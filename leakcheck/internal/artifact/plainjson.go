package artifact

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// encodeJSON writes v and a newline: structs (with the names and omitempty of their json tags),
// pointers, slices, maps with string keys (sorted), strings, booleans and integers. Anything else
// is an error. The result is that of encoding/json without indentation and HTML escapes.
//
// It links into users' test binaries, where encoding/json would add 180 KB and this adds 5 KB. The
// command reads JSON with encoding/json, with which the tests compare this encoder.
func encodeJSON(w io.Writer, v any) error {
	e := encoder{w: bufio.NewWriter(w)}
	e.value(reflect.ValueOf(v))
	if e.err != nil {
		return e.err
	}
	e.w.WriteByte('\n')
	return e.w.Flush()
}

// encoder keeps the first error; bufio.Writer does so for writing.
type encoder struct {
	w   *bufio.Writer
	err error
}

func (e *encoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			e.w.WriteString("null")
			return
		}
		e.value(v.Elem())
	case reflect.Struct:
		e.structure(v)
	case reflect.Slice:
		if v.IsNil() {
			e.w.WriteString("null")
			return
		}
		e.w.WriteByte('[')
		for i := range v.Len() {
			e.comma(i)
			e.value(v.Index(i))
		}
		e.w.WriteByte(']')
	case reflect.Map:
		e.mapping(v)
	case reflect.String:
		e.text(v.String())
	case reflect.Bool:
		e.w.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.w.WriteString(strconv.FormatInt(v.Int(), 10))
	default:
		if e.err == nil {
			e.err = fmt.Errorf("cannot write a %s", v.Kind())
		}
	}
}

func (e *encoder) comma(i int) {
	if i > 0 {
		e.w.WriteByte(',')
	}
}

func (e *encoder) structure(v reflect.Value) {
	e.w.WriteByte('{')
	t := v.Type()
	n := 0
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || (options == "omitempty" && empty(v.Field(i))) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		e.comma(n)
		n++
		e.text(name)
		e.w.WriteByte(':')
		e.value(v.Field(i))
	}
	e.w.WriteByte('}')
}

// empty reports whether omitempty leaves out a value.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Bool:
		return !v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int() == 0
	}
	return false
}

func (e *encoder) mapping(v reflect.Value) {
	if v.IsNil() {
		e.w.WriteString("null")
		return
	}
	type entry struct {
		key   string
		value reflect.Value
	}
	var entries []entry
	for it := v.MapRange(); it.Next(); { // not MapIndex, which links reflect's rules of assignment
		entries = append(entries, entry{it.Key().String(), it.Value()})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].key < entries[j].key })
	e.w.WriteByte('{')
	for i, x := range entries {
		e.comma(i)
		e.text(x.key)
		e.w.WriteByte(':')
		e.value(x.value)
	}
	e.w.WriteByte('}')
}

// text writes a string; bytes that are not UTF-8 become U+FFFD.
func (e *encoder) text(s string) {
	e.w.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			e.w.WriteByte('\\')
			e.w.WriteByte(byte(r))
		case r == '\n':
			e.w.WriteString(`\n`)
		case r == '\t':
			e.w.WriteString(`\t`)
		case r < ' ' || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(e.w, `\u%04x`, r)
		default:
			var b [utf8.UTFMax]byte
			e.w.Write(b[:utf8.EncodeRune(b[:], r)])
		}
	}
	e.w.WriteByte('"')
}
