package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/chimejobs/chime"
)

// newFile writes a CSV file of payments, and returns its path and the sum of the payments in cents.
func newFile(lines int) (path string, sum int64, err error) {
	file, err := os.CreateTemp("", "payments-*.csv")
	if err != nil {
		return "", 0, err
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same payments each time
	rows := csv.NewWriter(file)
	for number := 1; number <= lines; number++ {
		cents := random.Int64N(100_00)
		sum += cents
		_ = rows.Write([]string{strconv.Itoa(number), fmt.Sprintf("customer %d", random.IntN(500)), strconv.FormatInt(cents, 10)}) // Error returns what is wrong
	}
	rows.Flush()
	if err := rows.Error(); err != nil {
		return "", 0, err
	}
	return file.Name(), sum, file.Close()
}

// linesOf yields a job for each line of a file. It stops at a line that cannot be read.
func linesOf(file io.Reader) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		rows := csv.NewReader(file)
		rows.FieldsPerRecord = 3
		for number := 1; ; number++ {
			fields, err := rows.Read()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(chime.Item{}, err)
				return
			}
			cents, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				yield(chime.Item{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
			if !yield(book.Item(payment{Number: number, Customer: fields[1], Cents: cents}), nil) {
				return
			}
		}
	}
}
