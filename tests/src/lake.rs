//! Small lakes for tests.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;

/// Writes a text file, making its folders.
pub fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
    fs::write(path, content).expect("files can be written");
}

/// Writes a Parquet file of `rows` measurements.
pub fn write_parquet(root: &Path, path: &str, rows: i64) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "station_id",
            Arc::new(Int64Array::from_iter_values(0..rows)),
        ),
        (
            "water_level",
            Arc::new(Float64Array::from_iter_values(
                (0..rows).map(|row| row as f64 / 7.0),
            )),
        ),
        (
            "river",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|row| ["Aare", "Reuss", "Limmat"][row as usize % 3]),
            )),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of equal length");
    let file = fs::File::create(path).expect("files can be written");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a Parquet writer");
    writer.write(&batch).expect("rows are written");
    writer.close().expect("the footer is written");
}

/// A lake of all formats: lone files, a family, a Hive-partitioned table, a sidecar.
pub fn varied(root: &Path) {
    write(
        root,
        "hr/employees.csv",
        "EmployeeID,FullName,SickLeaveHours\n1,Ada Byron,4\n2,Grace Hopper,0\n3,Edsger Dijkstra,12\n",
    );
    write(
        root,
        "hr/employees.md",
        "Everyone on the payroll, with hours of sick leave taken this year.",
    );
    write(
        root,
        "music/songs.tsv",
        "song_name\tartist\tyear\nBlue Train\tJohn Coltrane\t1957\nSo What\tMiles Davis\t1959\n",
    );
    write(
        root,
        "shop/orders.jsonl",
        "{\"order\":1,\"customer\":\"Nakamura\",\"amount\":12.5}\n{\"order\":2,\"customer\":\"Okafor\",\"amount\":99.0}\n",
    );
    write(
        root,
        "exports/sales_2023.csv",
        "day,amount\n2023-01-01,5\n2023-01-02,7\n",
    );
    write(
        root,
        "exports/sales_2024.csv",
        "day,amount\n2024-01-01,6\n2024-01-02,8\n",
    );
    write(
        root,
        "mixed/table_1.csv",
        "planet,moons\nMars,2\nJupiter,95\n",
    );
    write(
        root,
        "mixed/table_2.csv",
        "cheese,country\nGruyere,Switzerland\nBrie,France\n",
    );
    for month in ["01", "02", "03"] {
        write_parquet(
            root,
            &format!("rivers/year=2024/month={month}/data.parquet"),
            30,
        );
    }
}
