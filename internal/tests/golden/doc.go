// Package golden checks the names of golden files against the rules for files of modules.
package golden
