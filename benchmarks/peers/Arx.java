// One table anonymized by ARX, as its own examples do it: java -cp ARX.jar:. Arx TASK.properties
//
// Reads the CSV, anonymizes along the hierarchies, writes the rows that are not suppressed as CSV, prints seconds.

import java.io.BufferedWriter;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class Arx {
    public static void main(String[] arguments) throws Exception {
        Properties task = new Properties();
        task.load(new InputStreamReader(new FileInputStream(arguments[0]), StandardCharsets.UTF_8));
        String sensitive = task.getProperty("sensitive");
        String[] names = task.getProperty("quasi_identifiers").split(",");
        boolean local = task.getProperty("algorithm").equals("local recoding");
        Data data = Data.create(task.getProperty("data"), StandardCharsets.UTF_8, ',');
        long start = System.nanoTime();
        for (String name : names) {
            String file = task.getProperty("hierarchy." + name);
            data.getDefinition().setAttributeType(name, Hierarchy.create(file, StandardCharsets.UTF_8, ';'));
        }
        data.getDefinition().setAttributeType(task.getProperty("identifier"), AttributeType.IDENTIFYING_ATTRIBUTE);
        ARXConfiguration config = ARXConfiguration.create();
        config.addPrivacyModel(new KAnonymity(Integer.parseInt(task.getProperty("k"))));
        if (task.getProperty("l") != null) {
            data.getDefinition().setAttributeType(sensitive, AttributeType.SENSITIVE_ATTRIBUTE);
            config.addPrivacyModel(new DistinctLDiversity(sensitive, Integer.parseInt(task.getProperty("l"))));
        } else {
            data.getDefinition().setAttributeType(sensitive, AttributeType.INSENSITIVE_ATTRIBUTE);
        }
        config.setSuppressionLimit(local ? 0.99 : Double.parseDouble(task.getProperty("suppression")) / 100);
        config.setQualityModel(Metric.createLossMetric());
        ARXResult result = new ARXAnonymizer().anonymize(data, config);
        DataHandle output = result.getOutput(false);
        if (local && result.isOptimizable(output)) {
            result.optimizeIterativeFast(output, 0.01);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        write(output, names, sensitive, Path.of(task.getProperty("out")));
        System.out.println("{\"seconds\": " + seconds + "}");
    }

    private static void write(DataHandle output, String[] names, String sensitive, Path file) throws Exception {
        List<Integer> columns = new ArrayList<>();
        for (String name : names) {
            columns.add(output.getColumnIndexOf(name));
        }
        columns.add(output.getColumnIndexOf(sensitive));
        try (BufferedWriter out = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            out.write(String.join(",", names) + "," + sensitive + "\n");
            for (int row = 0; row < output.getNumRows(); row++) {
                if (output.isOutlier(row)) {
                    continue;
                }
                List<String> cells = new ArrayList<>();
                for (int column : columns) {
                    cells.add('"' + output.getValue(row, column).replace("\"", "\"\"") + '"');
                }
                out.write(String.join(",", cells) + "\n");
            }
        }
    }
}
