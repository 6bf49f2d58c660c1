// Package objset implements the sets of a scan: of objects, by number, and a map with addresses as
// keys.
package objset
